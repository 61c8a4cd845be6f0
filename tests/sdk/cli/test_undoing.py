"""`practicum tools record` and `practicum tools undo`."""

from datetime import UTC, datetime

from practicum.contracts.tools import CallStatus, Compensation, Observation
from practicum.contracts.trajectory import CallRecord
from practicum.episode.observations import told
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import StandIn

OFFER = Compensation(tool="desk_close", arguments={"id": 1})
MADE = Observation(status=CallStatus.OK, content="{}", compensation=OFFER)
RECORD = CallRecord(
    key="t1",
    step=0,
    call=0,
    tool="desk_open",
    arguments={"title": "x"},
    observation=MADE,
    started=datetime(2026, 3, 1, tzinfo=UTC),
    seconds=0.1,
    id="inv_1",
    principal="ada",
    undo=OFFER,
)


def test_a_call_that_can_be_undone_says_with_which_command(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/tools/desk_open/call", MADE)
    shown = practicum("tools", "call", "desk_open", "--key", "t1")
    assert "practicum tools undo t1" in shown.err


def test_undoing_is_confirmed_and_made(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/calls", RECORD)
    gateway.on("POST", "/v1/calls/undo", Observation(status=CallStatus.OK, content="Done"))
    shown = practicum("tools", "record", "t1", "--episode", "ep_1")
    assert (shown.status, "desk_close" in shown.out) == (0, True)
    assert gateway.seen[-1].query == [("key", "t1"), ("episode", "ep_1")]
    assert practicum("tools", "undo", "t1").status == 2
    assert gateway.seen[-1].method == "GET"
    shown = practicum("tools", "undo", "t1", "--yes", "--key", "again")
    assert (shown.status, shown.out) == (0, "Done\n")
    assert gateway.seen[-1].json == {"key": "t1", "episode": None, "idempotency_key": "again"}


def test_what_cannot_be_undone_is_said(gateway: StandIn, practicum: Types) -> None:
    note = "The document does not say."
    gateway.on("GET", "/v1/calls", RECORD.model_copy(update={"undo": None, "note": note}))
    shown = practicum("tools", "undo", "t1", "--yes")
    assert (shown.status, note in shown.err) == (5, True)
    assert [seen.method for seen in gateway.seen] == ["GET"]


def test_a_model_is_told_only_where_the_call_is_in_doubt() -> None:
    assert told(MADE) == "{}"
    doubtful = MADE.model_copy(update={"status": CallStatus.IN_DOUBT})
    assert told(doubtful) == '{}\n[If it took effect, desk_close undoes it with: {"id": 1}]'
