"""A plan as text for people: what is added, changed and removed, and never a credential."""

from collections import Counter
from collections.abc import Iterator

from practicum.cli.output import say, short
from practicum.contracts.comparison import Difference
from practicum.contracts.connectors import Change
from practicum.declaration import Do, Left, Plan, Step, What

_MARKS = {Do.CREATE: "+", Do.REMOVE: "-"}
_STYLES = {"+": "green", "-": "red", "~": "yellow"}
_WORDS = {
    Do.CREATE: "new",
    Do.CHANGE: "changed",
    Do.REPLACE: "replaced",
    Do.HOLD: "calls of the connectors that change are denied until the new rules are in force",
    Do.ADD_VERSION: "a version is registered; the alias goes on naming what somebody chose",
    Do.ACCEPT: "breaking changes of its document are held",
    Do.REMOVE: "removed",
}
_MORE = {
    (What.CONNECTOR, Do.CHANGE): ": its document, or the overlay on it",
    (What.WEBHOOK, Do.REPLACE): ": removed and added with other secrets; messages that wait are lost",
}
_WIDTH = 60
_WHOLE = 1_000_000
_MOST_CHANGES = 40


def show_plan(plan: Plan, *, accept: bool) -> None:
    """What a gateway differs in from its declaration, tenant by tenant.

    Args:
        plan: what differs.
        accept: whether changes that break calls are put in force.
    """
    tenants = dict.fromkeys((*(step.tenant for step in plan.steps), *(left.tenant for left in plan.left)))
    for tenant in tenants:
        say(f"tenant {tenant}", "bold")
        for step in plan.steps:
            if step.tenant == tenant:
                _show_step(step, accept=accept)
        for left in plan.left:
            if left.tenant == tenant:
                say(f"  = {_name(left)}: {left.why}", "dim")
    say(_summary(plan))


def name_of(step: Step) -> str:
    """A step in a few words."""
    return f"{step.tenant}: {_name(step)} {step.do.replace('_', ' ')}"


def _name(one: Step | Left) -> str:
    return f"{one.what} {one.name}".rstrip()


def _show_step(step: Step, *, accept: bool) -> None:
    mark = _MARKS.get(step.do, "~")
    tools = f", {step.tools} tools" if step.tools is not None else ""
    more = _MORE.get((step.what, step.do), "")
    say(f"  {mark} {_name(step)}: {_WORDS[step.do]}{more}{tools}", _STYLES[mark])
    for difference in step.fields:
        say(f"      {_told(difference, new=step.do is Do.CREATE)}")
    for line in (*_changes(step.served, ""), *_changes(step.held, "held with it: ")):
        say(line)
    if step.do is Do.CHANGE and step.held and not accept:
        say("      waits: what breaks calls is held; --accept-breaking puts it in force too", "bold")
    for why in (step.waits, step.refused):
        if why is not None:
            say(f"      {'not done' if step.refused else 'waits'}: {why}", "bold")


def _told(difference: Difference, *, new: bool) -> str:
    # A rule is shown whole: whoever says yes has to see what it allows.
    width = _WHOLE if difference.where.startswith(("rules.", "budgets.")) else _WIDTH
    if difference.secret:
        kinds = " -> ".join(str(kind) for kind in (difference.before, difference.after) if kind)
        return f"{difference.where}: {'a credential' if new else 'another credential'}{kinds and f' ({kinds})'}"
    if difference.before is None:
        return f"{difference.where}: {short(difference.after, width * 2)}"
    return f"{difference.where}: {short(difference.before, width)} -> {short(difference.after, width)}"


def _changes(changes: tuple[Change, ...], harmless: str) -> Iterator[str]:
    for one in changes[:_MOST_CHANGES]:
        before = "    ! breaks calls: " if one.breaking else f"      {harmless}"
        values = f": {short(one.before or '-', _WIDTH)} -> {short(one.after or '-', _WIDTH)}"
        told = values if one.before or one.after else ""
        yield f"{before}{one.operation} {one.kind} {one.where}".rstrip() + told
    if len(changes) > _MOST_CHANGES:
        yield f"      and {len(changes) - _MOST_CHANGES} more"


def _summary(plan: Plan) -> str:
    if not plan.steps:
        return "The gateway is as the file says."
    counted = Counter(_MARKS.get(step.do, "~") for step in plan.steps)
    return f"{counted['+']} to add, {counted['~']} to change, {counted['-']} to remove."
