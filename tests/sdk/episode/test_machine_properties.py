"""Whatever happens, in whatever order: an episode ends within its limits and makes every call once."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from practicum.contracts.episodes import (
    ApprovalDecision,
    CallReceipt,
    CallReference,
    Cause,
    Limits,
    TurnReceipt,
)
from practicum.contracts.models import Usage
from practicum.contracts.tools import CallStatus
from practicum.episode import (
    ApprovalAnswered,
    AwaitApproval,
    CallReturned,
    CancelRequested,
    EpisodeState,
    Event,
    Finish,
    Invoke,
    Nudged,
    StepFailed,
    TakeTurn,
    TimeAdvanced,
    TurnTaken,
    apply,
    next_action,
    refusal,
)

LIMITS = st.builds(
    Limits,
    steps=st.integers(1, 6),
    calls_per_step=st.integers(1, 4),
    errors_in_a_row=st.integers(1, 3),
    tokens=st.none() | st.integers(1, 100),
    seconds=st.none() | st.floats(0.5, 50),
)
SETTLED = st.sampled_from([status for status in CallStatus if status.settled])


@dataclass
class World:
    """All that a driver could meet, drawn piece by piece, and what was seen of the machine meanwhile."""

    data: st.DataObject
    state: EpisodeState
    waits: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    settled: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    open: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    turns: int = 0
    actions: int = 0

    def happen(self, event: Event) -> None:
        self.state = apply(self.state, event)
        # Every state survives the trip that continue-as-new, a query or a stored history makes of it.
        assert EpisodeState.model_validate_json(self.state.model_dump_json()) == self.state

    def interfere(self) -> None:
        """Something that people or the network do while a driver is busy."""
        whim = self.data.draw(st.sampled_from(["none", "none", "nudge", "decide", "cancel"]))
        if whim == "nudge":
            self.happen(Nudged())
        elif whim == "cancel" and self.data.draw(st.integers(0, 9)) == 0:
            self.happen(CancelRequested())
        elif whim == "decide":
            self.decide()

    def decide(self) -> None:
        step = self.state.turns - 1
        for call in self.state.calls:
            decision = ApprovalDecision(approval=f"{step}-{call.index}", approved=True, arguments_hash="h")
            if refusal(self.state, decision) is None:
                self.happen(ApprovalAnswered(decision))

    def turn(self, action: TakeTurn) -> None:
        assert action.step == self.turns
        assert self.turns < self.state.limits.steps
        assert not self.open, "a turn was taken before every call of the last one was settled"
        assert action.within is None or action.within > 0
        if self.data.draw(st.integers(0, 19)) == 0:
            return self.happen(StepFailed(Cause.INFRASTRUCTURE, "gone"))
        calls = self.data.draw(st.integers(0, 5))
        self.turns += 1
        self.open = {(action.step, index) for index in range(calls)}
        self.happen(
            TurnTaken(
                TurnReceipt(
                    step=action.step,
                    calls=tuple(CallReference(index=index, tool="t") for index in range(calls)),
                    usage=Usage(completion_tokens=self.data.draw(st.integers(0, 40))),
                    truncated=self.data.draw(st.booleans()),
                )
            )
        )
        return self.happen(TimeAdvanced(self.data.draw(st.floats(0, 20))))

    def invoke(self, action: Invoke) -> None:
        key = (action.step, action.call)
        assert key in self.open
        assert key not in self.settled, "a settled call was made again"
        assert key == min(self.open), "a call was made out of order"
        # A fair gateway answers some day; an approval is given or expires.
        waits = self.waits[key] < 3 and self.data.draw(st.booleans())
        status = CallStatus.WAITING if waits else self.data.draw(SETTLED)
        approval = f"{action.step}-{action.call}" if waits else None
        self.waits[key] += 1
        self.interfere()
        if self.state.ending is not None:
            return
        self.happen(
            CallReturned(
                CallReceipt(
                    step=action.step,
                    call=action.call,
                    status=status,
                    approval=approval,
                    arguments_hash="h" if waits else None,
                ),
                action.heard,
            )
        )
        if status.settled:
            self.open.discard(key)
            self.settled.add(key)


@settings(max_examples=150, deadline=None)
@given(limits=LIMITS, data=st.data())
def test_an_episode_always_ends_and_makes_every_call_once(limits: Limits, data: st.DataObject) -> None:
    world = World(data, EpisodeState.begin(limits))
    while not isinstance(action := next_action(world.state), Finish):
        world.actions += 1
        # Each turn has at most 5 calls, each made at most 4 times, with a wait and a turn of its own.
        assert world.actions <= limits.steps * (1 + 5 * 4 * 2)
        match action:
            case TakeTurn():
                world.turn(action)
            case Invoke():
                world.invoke(action)
            case AwaitApproval():
                # The patience of a driver: it looks again after a while.
                world.decide()
                world.happen(Nudged())
        world.interfere()
    assert action.result.status.ended
    assert action.result.steps == world.turns <= limits.steps
    assert next_action(apply(world.state, CancelRequested())) == action, "an episode that ended ended otherwise"


@given(limits=LIMITS, data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_same_events_lead_to_the_same_state(limits: Limits, data: st.DataObject) -> None:
    events: list[Event] = []
    state = EpisodeState.begin(limits)
    while isinstance(action := next_action(state), TakeTurn | Invoke) and len(events) < 20:
        if isinstance(action, TakeTurn):
            receipt = TurnReceipt(step=action.step, calls=(CallReference(index=0, tool="t"),))
            event: Event = TurnTaken(receipt)
        else:
            status = data.draw(SETTLED)
            event = CallReturned(CallReceipt(step=action.step, call=action.call, status=status), action.heard)
        events.append(event)
        state = apply(state, event)
    again = EpisodeState.begin(limits)
    for event in events:
        again = apply(again, event)
    assert again == state
