"""Equal conversations have equal fingerprints, and no others have."""

from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.messages import Message, ToolCall
from practicum_gateway.record.canonical import digest, fingerprints

MESSAGES = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant"]), content=st.text(max_size=5)), max_size=5
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=6,
)
WISHES = st.builds(
    ToolCall, id=st.text(), name=st.text(), arguments=st.dictionaries(st.text(), JSON), malformed=st.none() | st.text()
)
EVERY = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        content=st.none() | st.text(),
        tool_calls=st.lists(WISHES, max_size=2).map(tuple),
        tool_call_id=st.none() | st.text(),
    ),
    max_size=4,
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


@given(EVERY)
def test_a_fingerprint_is_the_digest_of_the_one_before_and_the_message(messages: list[Message]) -> None:
    """However it is made: those that earlier releases wrote must go on being found."""
    chain = ""
    for message, mark in zip(messages, fingerprints(messages), strict=True):
        chain = digest([chain, message.model_dump(mode="json")])
        assert mark == chain


def test_the_order_of_keys_says_nothing() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
    one = ToolCall(id="c", name="f", arguments={"x": 1, "y": 2})
    other = ToolCall(id="c", name="f", arguments={"y": 2, "x": 1})
    (first,) = fingerprints([Message(role="assistant", tool_calls=(one,))])
    (second,) = fingerprints([Message(role="assistant", tool_calls=(other,))])
    assert first == second
