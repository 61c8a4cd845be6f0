"""Equal conversations have equal fingerprints, and no others have."""

from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.messages import Message, ToolCall
from practicum_gateway.record.canonical import digest, fingerprints

MESSAGES = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant"]), content=st.text(max_size=5)), max_size=5
)


@given(MESSAGES, MESSAGES)
def test_fingerprints_agree_exactly_as_far_as_the_conversations(first: list[Message], second: list[Message]) -> None:
    shared = 0
    for mine, theirs in zip(first, second, strict=False):
        if mine != theirs:
            break
        shared += 1
    mine, theirs = list(fingerprints(first)), list(fingerprints(second))
    assert mine[:shared] == theirs[:shared]
    assert not set(mine[shared:]) & set(theirs[shared:])


def test_the_order_of_keys_says_nothing() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
    one = ToolCall(id="c", name="f", arguments={"x": 1, "y": 2})
    other = ToolCall(id="c", name="f", arguments={"y": 2, "x": 1})
    (first,) = fingerprints([Message(role="assistant", tool_calls=(one,))])
    (second,) = fingerprints([Message(role="assistant", tool_calls=(other,))])
    assert first == second
