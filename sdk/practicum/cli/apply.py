"""`practicum apply`: makes a gateway what a file in version control says it should be."""

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Annotated

import typer

from practicum.cli.applying import Applying, Course, Ended, State
from practicum.cli.declared import declared_in
from practicum.cli.differences import name_of, show_plan
from practicum.cli.exits import FAILED, INTERRUPTED
from practicum.cli.exporting import write_down
from practicum.cli.gateways import Gateways
from practicum.cli.output import JsonOption, remark, say, show_json
from practicum.contracts.base import Value
from practicum.contracts.problems import Problem
from practicum.contracts.tenants import MAIN
from practicum.declaration import HOLD, Left, Plan, Present, WantedTenant, What, planned, rule_change
from practicum.errors import ConflictError

EPILOG = (
    "**Exit status:** of a dry run 0 where nothing differs and 1 where something does; else 1 where a breaking change "
    "waits for a decision or nobody confirmed, and 130 where it was interrupted.\n\n"
    "**Keys:** the main tenant's is that of the environment; every other tenant names the place of its own.\n\n"
    "**Examples:**\n\n`practicum apply practicum.yaml --dry-run`\n\n`practicum apply practicum.yaml --yes`\n\n"
    "`practicum apply now/practicum.yaml --show`"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_WISH_SECONDS = 1.0
"""What ends a command for somebody, such as `timeout`, may say so twice at once."""


class Applied(Value):
    """What an apply did.

    Attributes:
        steps: each step and how it ended.
        left: what is left as it is.
        error: what went wrong with the step that failed.
        denied: connectors whose calls go on being denied until it is run again.
    """

    steps: tuple[Ended, ...]
    left: tuple[Left, ...] = ()
    error: Problem | None = None
    denied: tuple[str, ...] = ()


def apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The declaration, such as practicum.yaml.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what differs and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove connectors, models, issuers and webhooks that the file does not declare."),
    ] = False,
    accept_breaking: Annotated[
        bool, typer.Option("--accept-breaking", help="Put changes of documents in force that break calls.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Write the file: what the gateway is now, for the main tenant.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a gateway differs in from a declaration, ask, and make it so."""
    if show:
        if dry_run or yes or prune or accept_breaking:
            raise typer.BadParameter("It writes the file and applies nothing.", param_hint="--show")
        write_down(file, as_json=as_json)
        return
    folder, tenants = declared_in(file)
    tenants = tuple(sorted(tenants, key=lambda wanted: wanted.name != MAIN))  # its key makes the others
    with Gateways(folder) as gateways:
        now = {wanted.name: gateways.present(wanted) for wanted in tenants}
        plan = _plan(tenants, now, _undeclared(gateways, tenants), prune=prune, accept=accept_breaking)
        if dry_run:
            _show(plan, accept=accept_breaking, as_json=as_json)
            raise typer.Exit(FAILED if plan.steps else 0)
        if not as_json:
            show_plan(plan, accept=accept_breaking)
        _refuse(plan)
        if plan.steps and not yes:
            _confirm(as_json=as_json)
        rules = {wanted.name: rule_change(wanted, now[wanted.name]) for wanted in tenants}
        applying = Applying(gateways, {each.name: each for each in tenants}, rules, accept=accept_breaking)
        with _in_order() as stop:
            course = applying.do(plan, _say_nothing if as_json else _tell, stop)
    _conclude(course, plan.left, as_json=as_json)


def _plan(
    tenants: tuple[WantedTenant, ...],
    now: dict[str, Present],
    undeclared: tuple[Left, ...],
    *,
    prune: bool,
    accept: bool,
) -> Plan:
    plans = [planned(wanted, now[wanted.name], prune=prune, accept=accept) for wanted in tenants]
    return Plan(
        steps=tuple(step for plan in plans for step in plan.steps),
        left=(*(left for plan in plans for left in plan.left), *undeclared),
    )


def _undeclared(gateways: Gateways, tenants: tuple[WantedTenant, ...]) -> tuple[Left, ...]:
    """Tenants that the file does not speak of, where it speaks of others than the main one at all."""
    names = {wanted.name for wanted in tenants}
    if names <= {MAIN}:
        return ()
    why = "not in the file; a tenant is removed by `practicum tenants remove` alone"
    return tuple(Left(tenant=MAIN, what=What.TENANT, name=name, why=why) for name in sorted(gateways.others() - names))


def _show(plan: Plan, *, accept: bool, as_json: bool) -> None:
    if as_json:
        show_json(plan)
    else:
        show_plan(plan, accept=accept)


def _refuse(plan: Plan) -> None:
    """See that nothing stands in the plan that must not be done.

    Raises:
        ConflictError: something does.
    """
    refused = [step for step in plan.steps if step.refused is not None]
    if refused:
        raise ConflictError(
            f"Nothing was done: {'; '.join(f'{name_of(step)}: {step.refused}' for step in refused)}.",
            mend="Mend that first, or take it out of the file.",
        )


def _confirm(*, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter("Nobody is there to confirm; give --yes if it is meant, or --dry-run to look.")
    typer.confirm("Make it so?", abort=True)


def _say_nothing(ended: Ended) -> None:
    del ended


def _tell(ended: Ended) -> None:
    say(f"{ended.state.replace('_', ' ')}: {name_of(ended.step)}")


@contextmanager
def _in_order() -> Generator[Callable[[], bool]]:
    """Whether somebody asked us to end: the step under way comes to its end first, so that it is known how it ended."""
    caught: list[float] = []

    def take(_number: int, _frame: FrameType | None) -> None:
        if not caught:
            caught.append(monotonic())
            remark("ending after this step; once more ends at once, and leaves open how the step ended")
        elif monotonic() - caught[0] > _ONE_WISH_SECONDS:
            raise KeyboardInterrupt

    former = {number: signal.signal(number, take) for number in _ENDING}
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _conclude(course: Course, left: tuple[Left, ...], *, as_json: bool) -> None:
    """Say how it ended; the status says it too.

    Raises:
        PracticumError: the error of the step that failed.
        typer.Exit: something waits for a decision, or it was interrupted.
    """
    ended, error = course.ended, course.error
    if as_json:
        problem = None if error is None else error.problem()
        show_json(Applied(steps=ended, left=left, error=problem, denied=course.denied))
    else:
        _tell_of_the_rest(course)
    if error is not None:
        raise error
    if any(each.state is State.NOT_DONE for each in ended):
        raise typer.Exit(INTERRUPTED)
    if any(each.state is State.WAITS for each in ended):
        raise typer.Exit(FAILED)


def _tell_of_the_rest(course: Course) -> None:
    """What was not done, what that leaves, and what to do about it."""
    rest = [each for each in course.ended if each.state is State.NOT_DONE]
    for each in rest:
        _tell(each)
    if rest or course.error is not None:
        how = "Run it again" if course.error is None else "Mend what is told below and run it again"
        say(f"What is done stays done. {how}: it goes on from there.")
    if course.denied:
        say(f"Until then the rule {HOLD} denies the calls of {', '.join(course.denied)}.")
    if any(each.state is State.WAITS for each in course.ended):
        say("What breaks calls is held; everything else is in force. --accept-breaking puts it in force too.")
