"""Proves tasks and their verifier without a model: what is right earns 1, and what is not earns 0."""

from examples.systems.world import World
from examples.tasks.reference import run_reference
from practicum.contracts.tasks import ReferenceCall, States, Task
from practicum.contracts.tools import CallStatus
from practicum.tasks import changes, verify


async def faults_of(world: World, task: Task) -> tuple[str, ...]:
    """What is wrong with a task or its verifier; empty when it is sound.

    It is sound when the systems take its start state as it is, every reference call succeeds, the reference solution
    earns 1 without a difference, and each of these earns 0: doing nothing, the solution with one more side effect,
    the solution without its last change, and the right deeds with no answer where one was asked for.

    Args:
        world: a world to try it in; its state is replaced.
        task: the task.
    """
    run = await run_reference(world, task)
    faults: list[str] = []
    if changes(task.start, run.before):
        faults.append("the systems do not hold its start state as it is")
    refused = (seen for seen in run.observations if seen.status is not CallStatus.OK)
    faults.extend(f"a reference call was refused: {seen.content}" for seen in refused)
    faults.extend(f"the reference solution is not right: {difference}" for difference in run.verdict.differences)
    extra = _one_more(task.start)
    await world.call(extra.tool, extra.arguments)
    tries = {
        "doing nothing": verify(task, run.before, run.before, None),
        "one more side effect": verify(task, run.before, await world.state(), task.conclusion),
    }
    if task.expected:
        after = await _without_last_change(world, task)
        tries["leaving out the last change"] = verify(task, run.before, after, task.conclusion)
    if task.answer is not None:
        tries["saying nothing"] = verify(task, run.before, run.after, "I am done.")
    faults.extend(f"{name} earns {verdict.reward}" for name, verdict in tries.items() if verdict.reward != 0)
    return tuple(faults)


def _one_more(start: States) -> ReferenceCall:
    """A side effect that no task asks for."""
    if "crm" in start:
        arguments = {"customer_id": min(start["crm"]["customers"]), "text": "Called today."}
        return ReferenceCall(tool="crm_add_note", arguments={**arguments})
    if "erp" in start:
        return ReferenceCall(tool="erp_adjust_stock", arguments={"sku": min(start["erp"]["products"]), "change": 1})
    return ReferenceCall(tool="cicd_rollback_service", arguments={"service": min(start["cicd"]["services"])})


async def _without_last_change(world: World, task: Task) -> States:
    """The state after the reference solution without its last call, which in every family changes something."""
    await world.load(task.start)
    for call in task.reference[:-1]:
        await world.call(call.tool, call.arguments)
    return await world.state()
