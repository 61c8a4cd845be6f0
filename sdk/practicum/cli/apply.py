"""`practicum apply`: makes a gateway what a file in version control says it should be."""

import sys
from typing import Annotated

import typer

from practicum.cli.applying import Applying, Ended, State
from practicum.cli.declared import declared_in
from practicum.cli.differences import name_of, show_plan
from practicum.cli.exits import FAILED
from practicum.cli.gateways import Gateways
from practicum.cli.output import JsonOption, say, show_json
from practicum.contracts.base import Value
from practicum.contracts.problems import Problem
from practicum.contracts.tenants import MAIN
from practicum.declaration import Left, Plan, Present, WantedTenant, What, planned, rule_change
from practicum.errors import ConflictError, PracticumError

EPILOG = (
    "**Exit status:** of a dry run 0 where nothing differs and 1 where something does; else 1 where a breaking change "
    "waits for a decision.\n\n"
    "**Keys:** the main tenant's is that of the environment; every other tenant names the place of its own.\n\n"
    "**Examples:**\n\n`practicum apply practicum.yaml --dry-run`\n\n`practicum apply practicum.yaml --yes`"
)


class Applied(Value):
    """What an apply did.

    Attributes:
        steps: each step and how it ended.
        left: what is left as it is.
        error: what went wrong with the step that failed.
    """

    steps: tuple[Ended, ...]
    left: tuple[Left, ...] = ()
    error: Problem | None = None


def apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The declaration, such as practicum.yaml.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what differs and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove connectors, models and issuers that the file does not declare.")
    ] = False,
    accept_breaking: Annotated[
        bool, typer.Option("--accept-breaking", help="Put changes of documents in force that break calls.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what a gateway differs in from a declaration, ask, and make it so."""
    folder, tenants = declared_in(file)
    tenants = tuple(sorted(tenants, key=lambda wanted: wanted.name != MAIN))  # its key makes the others
    with Gateways(folder) as gateways:
        now = {wanted.name: gateways.present(wanted) for wanted in tenants}
        plan = _plan(tenants, now, _undeclared(gateways, tenants), prune=prune, accept=accept_breaking)
        if dry_run:
            _show(plan, as_json=as_json)
            raise typer.Exit(FAILED if plan.steps else 0)
        if not as_json:
            show_plan(plan)
        _refuse(plan)
        if plan.steps and not yes:
            _confirm(as_json=as_json)
        rules = {wanted.name: rule_change(wanted, now[wanted.name]) for wanted in tenants}
        applying = Applying(gateways, {each.name: each for each in tenants}, rules, accept=accept_breaking)
        ended, error = applying.do(plan, _say_nothing if as_json else _tell)
    _conclude(ended, plan.left, error, as_json=as_json)


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


def _show(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        show_json(plan)
    else:
        show_plan(plan)


def _refuse(plan: Plan) -> None:
    """See that nothing stands in the plan that must not be done.

    Raises:
        ConflictError: something does.
    """
    refused = [step for step in plan.steps if step.refused is not None]
    if refused:
        raise ConflictError(
            f"Nothing was done: {'; '.join(f'{step.what} {step.name}: {step.refused}' for step in refused)}.",
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


def _conclude(ended: tuple[Ended, ...], left: tuple[Left, ...], error: PracticumError | None, *, as_json: bool) -> None:
    """Say how it ended; the status says it too.

    Raises:
        PracticumError: the error of the step that failed.
        typer.Exit: something waits for a decision.
    """
    if as_json:
        show_json(Applied(steps=ended, left=left, error=None if error is None else error.problem()))
    if error is not None:
        if not as_json:
            for each in ended:
                if each.state is State.NOT_DONE:
                    _tell(each)
            say("What is done stays done. Mend what is told below and run it again: it goes on from there.")
        raise error
    if any(each.state is State.WAITS for each in ended):
        raise typer.Exit(FAILED)
