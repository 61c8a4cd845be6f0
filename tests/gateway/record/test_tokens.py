"""Tokens come back exactly as they went in, whatever the parent shares with them."""

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.models import Sampled
from practicum_gateway.record.tokens import PackedTokens, TokenMemory, Tokens, pack, shared_ids, unpack

IDS = st.lists(st.integers(0, 2**32 - 1), max_size=20).map(tuple)
LOGPROBS = st.floats(max_value=0.0, allow_nan=False, allow_infinity=False)


@st.composite
def sampled(draw: st.DrawFn) -> Sampled:
    completion = draw(IDS)
    logprobs = draw(st.lists(LOGPROBS, min_size=len(completion), max_size=len(completion)))
    return Sampled(prompt_ids=draw(IDS), completion_ids=completion, logprobs=tuple(logprobs))


@given(sampled(), st.none() | sampled())
def test_tokens_come_back(call: Sampled, parent: Sampled | None) -> None:
    assert unpack(pack(Tokens.of(call), parent and Tokens.of(parent)), parent) == call


@given(sampled(), IDS)
def test_what_the_parent_holds_is_not_kept_again(parent: Sampled, added: tuple[int, ...]) -> None:
    before = parent.prompt_ids + parent.completion_ids
    call = Sampled(prompt_ids=before + added, completion_ids=(), logprobs=())
    packed = pack(Tokens.of(call), Tokens.of(parent))
    assert packed.prompt_shared == len(before)
    assert len(packed.prompt_ids) == 4 * len(added)
    assert unpack(packed, parent) == call


def test_a_parent_that_is_too_short_is_noticed() -> None:
    with pytest.raises(ValueError, match="shares 3 ids"):
        unpack(PackedTokens(3, b"", b"", b""), Sampled(prompt_ids=(1,), completion_ids=(2,), logprobs=(0.0,)))


@given(sampled(), sampled())
def test_as_many_ids_are_shared_as_are_the_same_from_the_first_on(call: Sampled, parent: Sampled) -> None:
    pairs = zip(call.prompt_ids, parent.prompt_ids + parent.completion_ids, strict=False)
    expected = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    assert shared_ids(Tokens.of(call), Tokens.of(parent)) == expected


def test_the_calls_met_last_are_remembered() -> None:
    whole = Sampled(prompt_ids=(1, 2), completion_ids=(3,), logprobs=(0.0,))
    one, other = Tokens.of(whole), Tokens.of(whole)
    memory = TokenMemory(most=7)
    memory.keep("a", one)
    memory.keep("b", other)
    memory.keep("none", None)
    assert memory.get("a") is one
    memory.keep("c", one)
    assert (memory.get("a"), memory.get("b"), memory.get("c"), memory.get("none")) == (one, None, one, None)
    memory.keep("long", Tokens.of(Sampled(prompt_ids=(1,) * 8, completion_ids=(), logprobs=())))
    assert (memory.get("a"), memory.get("long")) == (None, None)
