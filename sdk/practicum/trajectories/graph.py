"""The model calls of an episode as the graph that they form: which continues which, and which place is not known."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from practicum.contracts.base import Value
from practicum.contracts.models import Attempt, Disagreement, Link, ModelCall
from practicum.contracts.trajectory import Trajectory


class CallNode(Value):
    """One model call at its place.

    Attributes:
        call: its id.
        step: the episode's step.
        attempt: which try of the step.
        standing: whether the episode went on with it.
        version: model and adapter version that answered.
        depth: how many forks lie above it; 0 for the first of a conversation and what alone goes on from it.
        parent: the call it continues.
        by: by what that is known.
        shared: leading prompt ids that are its parent's, prompt and completion; None where tokens are not known.
        given: the prompt ids that come after those.
        drawn: the ids that the model drew.
        quarantined: whether its place, or that of a call above it, is not known.
        candidates: the calls it could continue equally well.
        disagreement: where tokens and messages name different calls.
        reasons: what about this call speaks against a use, each with the use before it.
    """

    call: str
    step: int
    attempt: int
    standing: Attempt
    version: str
    depth: int = 0
    parent: str | None = None
    by: Link | None = None
    shared: int | None = None
    given: int | None = None
    drawn: int | None = None
    quarantined: bool = False
    candidates: tuple[str, ...] = ()
    disagreement: Disagreement | None = None
    reasons: tuple[str, ...] = ()


def quarantined(calls: Iterable[ModelCall]) -> frozenset[str]:
    """The calls whose place is not known, and all that continue them: nothing is trained on what joins them."""
    below: dict[str | None, list[str]] = {}
    open_ends: list[str] = []
    for call in calls:
        below.setdefault(call.parent, []).append(call.id)
        if call.candidates:
            open_ends.append(call.id)
    found = set[str]()
    while open_ends:
        call_id = open_ends.pop()
        if call_id not in found:
            found.add(call_id)
            open_ends += below.get(call_id, ())
    return frozenset(found)


def nodes(trajectory: Trajectory) -> tuple[CallNode, ...]:
    """Every call at its place: each after the one that it continues, forks and conversations in order of time."""
    calls = {call.id: call for call in sorted(trajectory.model_calls, key=lambda call: (call.started, call.id))}
    below: dict[str | None, list[ModelCall]] = {}
    for call in calls.values():
        below.setdefault(call.parent if call.parent in calls else None, []).append(call)
    unknown = quarantined(calls.values())
    return tuple(
        _node(call, calls.get(call.parent or ""), depth, in_quarantine=call.id in unknown)
        for call, depth in _walk(below)
    )


def _walk(below: dict[str | None, list[ModelCall]]) -> Iterator[tuple[ModelCall, int]]:
    """The calls depth first, each with how many forks lie above it."""
    waiting = [(call, 0) for call in reversed(below.get(None, ()))]
    while waiting:
        call, depth = waiting.pop()
        yield call, depth
        children = below.get(call.id, [])
        going_on = [child for child in children if child.standing is Attempt.ACCEPTED]
        alone = going_on[0].id if len(going_on) == 1 else None
        # What alone goes on comes last, so that it stands below the attempts that led nowhere.
        ordered = sorted(children, key=lambda child: child.id == alone)
        waiting += [(child, depth + (child.id != alone)) for child in reversed(ordered)]


def _node(call: ModelCall, parent: ModelCall | None, depth: int, *, in_quarantine: bool) -> CallNode:
    sampled = call.sampled
    shared = None if sampled is None or not sampled.prompt_ids else _shared(sampled.prompt_ids, parent)
    return CallNode(
        call=call.id,
        step=call.step,
        attempt=call.attempt,
        standing=call.standing,
        version=call.version,
        depth=depth,
        parent=call.parent,
        by=call.by,
        shared=shared,
        given=None if sampled is None or shared is None else len(sampled.prompt_ids) - shared,
        drawn=None if sampled is None else len(sampled.completion_ids),
        quarantined=in_quarantine,
        candidates=call.candidates,
        disagreement=call.disagreement,
    )


def _shared(ids: Sequence[int], parent: ModelCall | None) -> int:
    if parent is None or parent.sampled is None:
        return 0
    before = parent.sampled.prompt_ids + parent.sampled.completion_ids
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, before, strict=False)))
