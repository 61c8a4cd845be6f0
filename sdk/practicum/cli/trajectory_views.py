"""How the graph of an episode and its replay are shown to people."""

from collections.abc import Iterator

from practicum.cli.output import say
from practicum.contracts.models import Attempt
from practicum.trajectories import CallNode, Explanation, Reason, Replay, Replayed

_INDENT = "  "


def show_explanation(explained: Explanation) -> None:
    """What an episode is good for, then its model calls as a tree: a fork indents what comes after it."""
    for use in explained.uses:
        say(f"{use.use}: {'yes' if use.eligible else 'no'}", "green" if use.eligible else "yellow")
        for text, calls in _told_once(use.reasons).items():
            say(_INDENT + text + (f" ({', '.join(calls)})" if calls else ""))
    if explained.calls:
        say("")
    for node in explained.calls:
        say(f"{_INDENT * node.depth}{_line(node)}", "dim" if node.standing is not Attempt.ACCEPTED else "")
        for remark in _remarks(node):
            say(f"{_INDENT * (node.depth + 2)}{remark}", "yellow")


def show_replay(replayed: Replay) -> None:
    """Each call: what is the same, what differs, what could not be compared."""
    for call in replayed.calls:
        say(_replayed(call), "red" if call.difference else "")
        for missing in call.unchecked:
            say(f"{_INDENT}not compared: {missing}", "dim")
    differing = sum(call.difference is not None for call in replayed.calls)
    compared = sum(bool(call.checked or call.difference) for call in replayed.calls)
    say(f"{compared} of {len(replayed.calls)} model calls compared, {differing} would be asked otherwise now.")


def _told_once(reasons: tuple[Reason, ...]) -> dict[str, list[str]]:
    """The calls that each reason is about."""
    told: dict[str, list[str]] = {}
    for reason in reasons:
        calls = told.setdefault(reason.text, [])
        if reason.call is not None:
            calls.append(reason.call)
    return told


def _line(node: CallNode) -> str:
    parts = [node.call, f"step {node.step}"]
    if node.attempt > 1:
        parts.append(f"try {node.attempt}")
    if node.by is not None:
        parts.append(f"by {node.by}")
    parts.append(node.version)
    if node.shared is not None:
        parts.append(f"{node.shared} tokens shared, {node.given} new, {node.drawn} drawn")
    elif node.drawn is not None:
        parts.append(f"{node.drawn} tokens drawn, those of the prompt not told")
    parts.append(node.standing)
    if node.quarantined:
        parts.append("quarantined")
    return "  ".join(parts)


def _remarks(node: CallNode) -> Iterator[str]:
    if node.candidates:
        yield f"could continue any of {', '.join(node.candidates)}"
    departed = node.disagreement
    if departed is not None and departed.call is None:
        yield "its messages continue no call: a history was edited into what renders the same"
    elif departed is not None:
        shared = f"{departed.shared} of its {departed.of} tokens are shared"
        yield f"by its messages it continues {departed.call}, whose history was rendered anew: {shared}"


def _replayed(call: Replayed) -> str:
    if call.difference is not None:
        told = f"differs: {call.difference}"
    elif call.checked:
        told = f"the same: {', '.join(call.checked)}"
    else:
        told = "not compared"
    return f"{call.call}  step {call.step}  {told}"
