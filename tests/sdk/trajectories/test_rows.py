"""Rows to train on: conversations in OpenAI's form, and tokens exactly as they were drawn."""

import json
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from practicum.contracts.episodes import EpisodeMode
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, Sampled
from practicum.contracts.trajectory import Trajectory
from practicum.errors import RequestError
from practicum.trajectories import TokenRow, chat_row, token_rows
from tests.sdk.stand_in import NOW
from tests.sdk.trajectories.conftest import ANSWER, CALL, FIRST, SECOND, SYSTEM, TASK, TOOL, Recorded, model_call


def test_a_conversation_in_openai_form(recorded: Recorded) -> None:
    row = chat_row(recorded())
    assert row == {
        "messages": [
            {"role": "system", "content": "You are an agent."},
            {"role": "user", "content": "Refund order 1042."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {
                            "name": "erp_refund",
                            "arguments": '{"order": 1042, "note": null, "text": "„Größe“"}',
                        },
                    }
                ],
            },
            {"role": "tool", "content": '{"refunded": true}', "tool_call_id": "c1"},
            {"role": "assistant", "content": "Refunded."},
        ],
        "tools": [TOOL],
    }
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(row["messages"])


def test_no_tools_no_field(recorded: Recorded) -> None:
    assert set(chat_row(recorded(tools=()))) == {"messages"}


def test_what_has_no_chat_form_is_refused(recorded: Recorded) -> None:
    broken = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="", arguments={}, malformed="{oops"),))
    with pytest.raises(RequestError, match="could not be read"):
        chat_row(recorded(messages=(TASK, broken)))
    with pytest.raises(RequestError, match="no message of the model"):
        chat_row(recorded(messages=(SYSTEM, TASK)))


def test_a_call_that_continues_the_last_joins_its_row(recorded: Recorded) -> None:
    (row,) = token_rows(recorded())
    assert row == TokenRow(
        input_ids=(1, 2, 3, 10, 11, 4, 5, 12),
        labels=(-100, -100, -100, 10, 11, -100, -100, 12),
        logprobs=(0.0, 0.0, 0.0, -0.1, -0.2, 0.0, 0.0, -0.3),
        episode="ep1",
        step=0,
        reward=1.0,
        calls=("m0", "m1"),
        requests=("", ""),
    )
    assert row.trainable == 3


def test_a_prompt_rendered_anew_begins_a_row(recorded: Recorded) -> None:
    drifted = SECOND.model_copy(update={"prompt_ids": (1, 2, 3, 10, 99, 4, 5)})
    calls = (model_call(0, FIRST, CALL), model_call(3, drifted, ANSWER))
    rows = token_rows(recorded(model_calls=calls))
    assert [(row.step, row.trainable) for row in rows] == [(0, 2), (3, 1)]
    assert rows[1].labels == (-100,) * 7 + (12,)


def test_interleaved_agents_keep_to_their_rows(recorded: Recorded) -> None:
    other = Sampled(prompt_ids=(7,), completion_ids=(70,), logprobs=(-1.0,))
    more = Sampled(prompt_ids=(7, 70, 8), completion_ids=(71,), logprobs=(-1.0,))
    sampled = (FIRST, other, SECOND, more)
    calls = tuple(model_call(step, each, ANSWER) for step, each in enumerate(sampled))
    rows = token_rows(recorded(model_calls=calls))
    assert [row.input_ids for row in rows] == [(1, 2, 3, 10, 11, 4, 5, 12), (7, 70, 8, 71)]


def test_rejected_attempts_are_not_trained_on(recorded: Recorded) -> None:
    rejected = model_call(0, Sampled(prompt_ids=(1,), completion_ids=(66,), logprobs=(0.0,)), CALL)
    rejected = rejected.model_copy(update={"standing": Attempt.SUPERSEDED})
    calls = (rejected, model_call(0, FIRST, CALL))
    assert [row.input_ids for row in token_rows(recorded(model_calls=calls))] == [(1, 2, 3, 10, 11)]


@pytest.mark.parametrize(
    ("sampled", "told"),
    [
        (None, "No token ids"),
        (FIRST.model_copy(update={"prompt_ids": ()}), "of the prompt were not recorded"),
        (FIRST.model_copy(update={"completion_ids": (), "logprobs": ()}), "nothing to train on"),
        (FIRST.model_copy(update={"logprobs": (-0.1,)}), "2 tokens have 1 logprobs"),
        (FIRST.model_copy(update={"logprobs": (-0.1, -inf)}), "not finite"),
        (FIRST.model_copy(update={"logprobs": (nan, -0.1)}), "not finite"),
    ],
)
def test_a_call_without_usable_tokens_is_refused(recorded: Recorded, sampled: Sampled | None, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        token_rows(recorded(model_calls=(model_call(0, sampled, CALL),)))


def test_no_call_no_row(recorded: Recorded) -> None:
    with pytest.raises(RequestError, match="no accepted model call"):
        token_rows(recorded(model_calls=()))


TOKENS = st.lists(st.integers(0, 3), min_size=0, max_size=4)


@given(st.lists(st.tuples(st.booleans(), TOKENS, st.lists(st.integers(0, 3), min_size=1, max_size=3)), min_size=1))
def test_every_drawn_token_is_trained_on_once_and_no_other(turns: list[tuple[bool, list[int], list[int]]]) -> None:
    """Few different tokens, so that prefixes collide: that is where rows are merged wrongly."""
    history: list[int] = []
    calls: list[Sampled] = []
    for anew, given_ids, drawn in turns:
        prompt = [*([] if anew else history), *given_ids] or [9]
        calls.append(
            Sampled(prompt_ids=tuple(prompt), completion_ids=tuple(drawn), logprobs=tuple(-1.0 for _ in drawn))
        )
        history = [*prompt, *drawn]
    trajectory = Trajectory(
        episode="ep1",
        task="t",
        model="local",
        mode=EpisodeMode.LIVE,
        messages=(),
        model_calls=tuple(model_call(step, each, ANSWER) for step, each in enumerate(calls)),
        created=NOW,
    )
    rows = token_rows(trajectory)
    for row in rows:
        assert len(row.input_ids) == len(row.labels) == len(row.logprobs)
        assert all(label in (-100, token) for label, token in zip(row.labels, row.input_ids, strict=True))
        assert all((label == -100) == (logprob == 0) for label, logprob in zip(row.labels, row.logprobs, strict=True))
        assert row.trainable > 0
    assert sum(row.trainable for row in rows) == sum(len(call.completion_ids) for call in calls)
    assert len(rows) <= 1 + sum(anew for anew, _, _ in turns[1:])
    assert json.loads(rows[0].model_dump_json())["labels"] == list(rows[0].labels)
