import pytest

from examples.systems.world import World
from examples.tasks import faults_of, generate, run_reference
from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import ExpectedChange, ReferenceCall, Split, Task, Verdict
from practicum.tasks import verify

HELD_OUT = generate(Split.HELD_OUT)


def task_of(family: str, turn: int = 0) -> Task:
    return next(task for task in HELD_OUT if task.id.endswith(f".{family}.{turn}"))


async def judge(world: World, task: Task, *calls: tuple[str, JsonObject], answer: str | None = None) -> Verdict:
    """Make these calls instead of the reference solution's."""
    await world.load(task.start)
    for tool, arguments in calls:
        await world.call(tool, arguments)
    return verify(task, task.start, await world.state(), answer)


@pytest.mark.parametrize("split", list(Split))
async def test_every_task_is_sound(world: World, split: Split) -> None:
    faults = {task.id: found for task in generate(split) if (found := await faults_of(world, task))}
    assert faults == {}


async def test_an_unsound_task_is_noticed(world: World) -> None:
    task = task_of("broken_order")
    note = task.expected[2]
    wrong_note = task.model_copy(
        update={"expected": (*task.expected[:2], note.model_copy(update={"table": "tickets"}))}
    )
    assert any("unexpected: crm/notes/1 created" in fault for fault in await faults_of(world, wrong_note))
    blind = task.model_copy(update={"expected": (), "reference": ()})
    assert "doing nothing earns 1.0" in await faults_of(world, blind)
    refused = task.model_copy(update={"reference": (ReferenceCall(tool="erp_get_order", arguments={"order_id": 1}),)})
    assert any("was refused" in fault for fault in await faults_of(world, refused))
    missing = ExpectedChange(system="crm", table="customers", record="C358", removed=True)
    assert any(
        "missing: removal" in fault
        for fault in await faults_of(world, task.model_copy(update={"expected": (missing,)}))
    )


async def test_a_red_build_must_not_be_deployed_and_the_answer_says_so(world: World) -> None:
    task = task_of("release_if_green", 1)
    build = max(int(n) for n, b in task.start["cicd"]["builds"].items() if str(b["service"]) in task.prompt)
    silent = await judge(world, task)
    assert silent.differences == ("the answer does not say 'failed'",)
    deployed = await judge(world, task, ("cicd_deploy_build", {"build_id": build}), answer="It failed, I deployed it.")
    assert deployed.reward == 0
    assert (await judge(world, task, answer="Its build failed: not released.")).reward == 1


async def test_reads_are_free_and_order_of_changes_does_not_matter(world: World) -> None:
    task = task_of("broken_order")
    calls = [(call.tool, call.arguments) for call in reversed(task.reference)]
    look = ("crm_find_customers", JsonObject({"name": "a"}))
    assert (await judge(world, task, look, *calls, look)).reward == 1


async def test_a_refused_call_leaves_no_trace(world: World) -> None:
    task = task_of("refund_full", 1)
    number = int(task.prompt.split()[1])
    order = task.start["erp"]["orders"][str(number)]
    too_much = ("erp_create_refund", JsonObject({"order_id": number, "amount": order["paid"]}))
    assert order["refunded"] != 0
    assert (await judge(world, task, too_much)).reward == 0
    right = task.reference[-1]
    assert (await judge(world, task, too_much, (right.tool, right.arguments))).reward == 1


async def test_the_wrong_order_customer_or_amount_earns_nothing(world: World) -> None:
    task = task_of("broken_order")
    _, refund, note, message = ((call.tool, call.arguments) for call in task.reference)
    other = next(key for key in task.start["crm"]["customers"] if key != note[1]["customer_id"])
    wrong_note = (note[0], {**note[1], "customer_id": other})
    verdict = await judge(world, task, refund, wrong_note, message)
    assert verdict.differences == (f"different: crm/notes/1: customer_id is '{other}', not '{note[1]['customer_id']}'",)
    vague_note = (note[0], {**note[1], "text": "Something broke."})
    assert (await judge(world, task, refund, vague_note, message)).reward == 0
    less = (refund[0], {**refund[1], "amount": 1})
    assert (await judge(world, task, less, note, message)).reward == 0
    assert (await judge(world, task, refund, note, message, message)).reward == 0


async def test_a_solution_counts_each_effect_once(world: World) -> None:
    task = task_of("broken_order")
    assert (await run_reference(world, task)).verdict.reward == 1
    assert await world.effects() == {"crm": 1, "erp": 2, "cicd": 0}
