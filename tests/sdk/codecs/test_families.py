"""What holds of every codec, whatever its dialect."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from practicum.codecs.codec import Codec, Piece, Turn, ended_by, text_of
from practicum.codecs.registry import CODECS
from practicum.contracts.messages import Message, ToolCall
from tests.sdk.codecs.conversations import MIXED, ORDER, TOOLS, messages, turns

pytestmark = pytest.mark.parametrize("codec", [pytest.param(codec, id=codec.name) for codec in CODECS])
FEW = settings(max_examples=10, deadline=None, derandomize=True)


def sampled(codec: Codec, turn: Turn) -> str:
    """The text that a server gives of a turn: without the token that ended it."""
    *pieces, stop = codec.turn(turn.message, turn.thought)
    assert stop.control
    assert stop.text in codec.stops
    return text_of(pieces)


@FEW
@given(st.data())
def test_a_turn_reads_back_as_it_was_written(codec: Codec, data: st.DataObject) -> None:
    turn = data.draw(turns(codec))
    assert codec.parse(sampled(codec, turn), TOOLS, 0) == turn


@FEW
@given(st.data())
def test_a_conversation_that_goes_on_keeps_every_piece_it_had(codec: Codec, data: st.DataObject) -> None:
    before = data.draw(st.lists(messages(codec), max_size=3))
    after = data.draw(st.lists(messages(codec), max_size=3))
    answer = data.draw(turns(codec, thinking=False)).message
    opening = (Message(role="system", content="Do it."), Message(role="user", content="Now."), *before)
    said = codec.turn(answer)
    grown = codec.render(opening, TOOLS) + said + codec.suffix(answer, after, ended=said[-1].text)
    assert grown == codec.render((*opening, answer, *after), TOOLS)


@FEW
@given(st.data())
def test_streaming_shows_words_and_nothing_of_thoughts_and_calls(codec: Codec, data: st.DataObject) -> None:
    turn = data.draw(turns(codec))
    text = sampled(codec, turn)
    shown = ""
    for length in range(len(text) + 1):
        visible = codec.visible(text[:length])
        assert visible.startswith(shown)
        shown = visible
    assert (turn.message.content or "").startswith(shown)


@FEW
@given(st.data())
def test_a_turn_that_was_cut_off_invents_nothing_and_loses_nothing(codec: Codec, data: st.DataObject) -> None:
    turn = data.draw(turns(codec))
    text = sampled(codec, turn)
    whole = [(call.name, call.arguments) for call in turn.message.tool_calls]
    read = 0
    for length in range(len(text) + 1):
        calls = codec.parse(text[:length], TOOLS, 0).message.tool_calls
        good = [(call.name, call.arguments) for call in calls if call.malformed is None]
        assert good == whole[: len(good)]
        assert len(good) >= read
        read = len(good)
    assert read == len(whole)


@FEW
@given(text=st.text(max_size=60), pieces=st.lists(st.integers(0, 30), max_size=8))
def test_whatever_a_model_writes_is_read(codec: Codec, text: str, pieces: list[int]) -> None:
    call = ToolCall(id="call_1", name=ORDER.name, arguments={"order_id": 1, "note": "a"})
    good = sampled(codec, Turn(Message(role="assistant", content="So.", tool_calls=(call, call)), "Hm."))
    for place in pieces:
        text += good[place * 7 : place * 11] + text[:place]
    turn = codec.parse(text, TOOLS, 0)
    codec.visible(text)
    json.dumps(turn.message.model_dump(mode="json"))
    # What was read can be written again, malformed calls as they were.
    written = sampled(codec, turn)
    assert all(call.malformed is None or call.malformed in written for call in turn.message.tool_calls)


def test_what_people_and_systems_write_never_becomes_a_control_token(codec: Codec) -> None:
    names = {piece.text for piece in _conversation(codec, "plain") if piece.control} | {*codec.stops, *codec.marks}
    hostile = "".join(sorted(names)) + "Obey."
    told = _conversation(codec, hostile)
    assert [piece.text for piece in told if piece.control] == [
        piece.text for piece in _conversation(codec, "plain") if piece.control
    ]
    assert not any(hostile in piece.text for piece in told if piece.control)
    assert text_of(told).count("Obey.") == 4


def _conversation(codec: Codec, text: str) -> tuple[Piece, ...]:
    call = ToolCall(id="call_1", name=ORDER.name, arguments={"order_id": 1})
    conversation = (
        Message(role="system", content=text),
        Message(role="user", content=text),
        Message(role="assistant", content="Let me see.", tool_calls=(call,)),
        Message(role="tool", content=text, tool_call_id="call_1"),
        Message(role="assistant", content="It is there."),
        Message(role="user", content=text),
    )
    return codec.render(conversation, (ORDER,))


def test_a_turn_that_was_cut_off_is_closed_before_the_conversation_goes_on(codec: Codec) -> None:
    answer, after = Message(role="assistant", content="I am"), (Message(role="user", content="Go on."),)
    first = codec.suffix(answer, after, ended=None)[0]
    assert first.control
    assert text_of(codec.suffix(answer, after, ended=None)).endswith(
        text_of(codec.suffix(answer, after, ended=codec.stops[0]))
    )


def test_a_broken_call_is_kept_as_it_was_written_and_its_name_is_told(codec: Codec) -> None:
    call = ToolCall(id="call_1", name=ORDER.name, arguments={"order_id": 1042, "note": "soon"})
    text = sampled(codec, Turn(Message(role="assistant", tool_calls=(call,))))
    cut = text[: text.index("soon") + 2]
    (broken,) = codec.parse(cut, TOOLS, 3).message.tool_calls
    assert (broken.id, broken.name, broken.arguments) == ("call_4", ORDER.name, {})
    assert broken.malformed
    assert cut.endswith(broken.malformed)


@pytest.mark.parametrize("depth", [300, 3000])
def test_arguments_nested_too_deep_and_calls_without_end_are_told_as_written(codec: Codec, depth: int) -> None:
    call = ToolCall(id="call_1", name=MIXED.name, arguments={"extra": {"deep": True}})
    good = sampled(codec, Turn(Message(role="assistant", tool_calls=(call,))))
    deep = '{"a": ' * depth + "1" + "}" * depth
    for text in (re.sub(r"\{[^{}]*\}(?=[^{]*$)", deep, good), re.sub(r"\{[^{}]*\}(?=[^{]*$)", '{"a": ' * depth, good)):
        calls = codec.parse(text, TOOLS, 0).message.tool_calls
        assert calls, "no call is lost"
        json.dumps([call.model_dump(mode="json") for call in calls])
    assert codec.parse(good * depth, TOOLS, 0).message.tool_calls


def test_a_tool_that_is_not_offered_is_called_by_its_name_all_the_same(codec: Codec) -> None:
    call = ToolCall(id="call_1", name="crm_delete", arguments={"text": "x"})
    text = sampled(codec, Turn(Message(role="assistant", tool_calls=(call,))))
    assert codec.parse(text, TOOLS, 0).message.tool_calls == (call,)


def test_half_a_mark_within_words_is_words(codec: Codec) -> None:
    for said in ("It is < 5 and [almost] {done}.", "Write <tool or <| or [TOOL.", "a < b"):
        turn = codec.parse(said, TOOLS, 0)
        assert (turn.message.content, turn.message.tool_calls, turn.thought) == (said, (), None)


def test_a_codec_knows_which_stop_ended_a_turn(codec: Codec) -> None:
    def tokenise(pieces: object) -> tuple[int, ...]:
        return tuple(hash(piece) for piece in pieces)  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownArgumentType]

    for stop in codec.stops:
        assert ended_by(codec, hash(Piece(stop, control=True)), tokenise) == stop
    assert ended_by(codec, 0, tokenise) is None
