import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from practicum.contracts.canonical import digest
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec, Provider, Sampled, Sampling
from practicum.contracts.tools import Effect, Tool
from practicum.errors import ConfigurationError, ModelProviderError, RequestError
from practicum_gateway.models.llama_cpp import LlamaCppProvider
from practicum_gateway.models.provider import Completed, Prompt
from tests.gateway.local.conftest import Stage, free_port

TOOL = Tool(
    name="erp_get_order",
    connector="erp",
    operation="get_order",
    description="",
    input_schema={"type": "object", "properties": {"order_id": {"type": "integer"}}, "required": ["order_id"]},
    effect=Effect.READ,
    method="GET",
    path="/orders",
)
ASKED = (Message(role="user", content="Where is order 1042?"),)
READ = 12
"""Pieces of the prompt: five for each of two turns, two for the one that begins; a stage gives a token for each."""


@pytest.fixture
async def provider() -> AsyncGenerator[LlamaCppProvider]:
    made = LlamaCppProvider()
    yield made
    await made.aclose()


def _spec(url: str | None, **changes: object) -> ModelSpec:
    spec = ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="smollm2", base_url=url)
    return spec.model_copy(update=changes)


def _prompt(stage: Stage, **changes: object) -> Prompt:
    return Prompt(spec=_spec(stage.url, **changes), messages=ASKED, tools=(TOOL,), sampling=Sampling(max_tokens=9))


def _answer(text: str, drawn: int = 2, **changes: object) -> dict[str, object]:
    return {
        "content": text,
        "tokens": list(range(drawn)),
        "completion_probabilities": [{"id": number, "logprob": -0.5} for number in range(drawn)],
        "stop": True,
        "stop_type": "eos",
        "tokens_evaluated": READ,
        "truncated": False,
        **changes,
    }


def _say(stage: Stage, answer: object, status: int = 200) -> None:
    stage.completion = (status, json.dumps(answer).encode())


async def test_a_call_comes_back_parsed_with_its_tokens(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, _answer('<tool_call>{"name":"erp_get_order","arguments":{"order_id":1042}}</tool_call>'))
    completed = await provider.complete(_prompt(stage))
    (call,) = completed.message.tool_calls
    assert (call.name, call.arguments) == ("erp_get_order", {"order_id": 1042})
    assert completed.finish_reason == "tool_calls"
    assert completed.sampled == Sampled(prompt_ids=(7,) * READ, completion_ids=(0, 1), logprobs=(-0.5, -0.5))
    assert completed.usage.prompt_tokens == READ
    assert completed.usage.completion_tokens == 2
    assert completed.constrained
    assert completed.template_hash


async def test_a_turn_with_a_character_of_several_tokens_is_whole_but_has_no_logprobs(
    stage: Stage, provider: LlamaCppProvider
) -> None:
    """llama.cpp tells no probability of a token that ends within a character."""
    _say(stage, _answer("It shipped \N{PARTY POPPER}", 5, completion_probabilities=[{"id": 0, "logprob": -0.5}] * 3))
    completed = await provider.complete(_prompt(stage))
    assert completed.message.content == "It shipped \N{PARTY POPPER}"
    assert completed.sampled == Sampled(prompt_ids=(7,) * READ, completion_ids=(0, 1, 2, 3, 4), logprobs=())


async def test_the_request_says_everything_that_training_must_know(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, _answer("Shipped."))
    prompt = _prompt(stage, adapter={0: 0.5})
    prompt = Prompt(prompt.spec, prompt.messages, prompt.tools, Sampling(temperature=0.0, seed=3), api_key="sesame")
    await provider.complete(prompt)
    (asked,) = stage.requests
    assert asked["prompt"] == [7] * READ
    assert asked["lora"] == [{"id": 0, "scale": 0.5}]
    assert (asked["temperature"], asked["top_p"], asked["top_k"], asked["min_p"], asked["seed"]) == (
        0.0,
        1.0,
        0,
        0.0,
        3,
    )
    assert "erp_get_order" in str(asked["grammar"])
    assert asked["return_tokens"] is True
    assert stage.headers[0]["Authorization"] == "Bearer sesame"


async def test_the_record_keeps_how_the_server_was_asked(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, _answer("Shipped."))
    completed = await provider.complete(_prompt(stage, adapter={0: 0.5}))
    asked: Any = {name: part for name, part in stage.requests[0].items() if name != "stream"}
    assert completed.sent is not None
    assert completed.sent.digest == digest(asked)
    assert (completed.sent.codec, completed.sent.adapter, completed.sent.continued) == (
        "chatml-compact",
        {0: 0.5},
        None,
    )
    assert completed.sent.request["n_predict"] == 9
    assert str(completed.sent.request["grammar"]).startswith("sha256:")
    # What nobody asked for is known all the same: this server is told to narrow nothing.
    assert completed.sampling == Sampling(temperature=1.0, top_p=1.0, max_tokens=9)
    assert completed.tokens_from == "tokens"


async def test_an_unconstrained_model_is_sent_no_grammar(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, _answer("Shipped."))
    completed = await provider.complete(_prompt(stage, constrained=False))
    assert "grammar" not in stage.requests[0]
    assert not completed.constrained


async def test_a_turn_that_was_cut_off_says_so(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, _answer('<tool_call>{"name":"erp_get_order","argu', stop_type="limit"))
    completed = await provider.complete(_prompt(stage))
    assert completed.finish_reason == "length"
    assert completed.message.tool_calls[0].malformed == '<tool_call>{"name":"erp_get_order","argu'


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (_answer("x", completion_probabilities=[]), "2 tokens and 0 logprobs"),
        (_answer("x", tokens_evaluated=99), "was sent 12 tokens and read 99"),
        (_answer("x", truncated=True), "cut the prompt"),
        (_answer("x", tokens=["a"]), "no number"),
        (_answer("x", tokens=[True, False]), "no number"),
        (_answer("x", completion_probabilities=[{"id": 1}, {"id": 2}]), "logprob"),
        (_answer("x", stop=False), "how the turn ended"),
        ({"error": "x"}, "no completion"),
        ([1], "no JSON object"),
    ],
)
async def test_an_answer_that_cannot_be_trusted_is_an_error(
    answer: object, complaint: str, stage: Stage, provider: LlamaCppProvider
) -> None:
    _say(stage, answer)
    with pytest.raises(ModelProviderError, match=complaint):
        await provider.complete(_prompt(stage))


async def test_a_page_of_html_is_an_error_that_names_the_url(stage: Stage, provider: LlamaCppProvider) -> None:
    stage.completion = (200, b"<html>Welcome</html>")
    with pytest.raises(ModelProviderError, match="not JSON") as caught:
        await provider.complete(_prompt(stage))
    assert stage.url in caught.value.detail
    assert caught.value.mend


async def test_a_refusal_carries_the_servers_words(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, {"error": {"message": "request (3000 tokens) exceeds the available context size"}}, 400)
    with pytest.raises(RequestError, match=r"400: request \(3000 tokens\) exceeds"):
        await provider.complete(_prompt(stage))


async def test_a_refusal_without_words_is_still_told(stage: Stage, provider: LlamaCppProvider) -> None:
    stage.completion = (503, b"<html>Bad gateway</html>")
    with pytest.raises(ModelProviderError, match="503"):
        await provider.complete(_prompt(stage))


async def test_an_answer_that_breaks_off_is_an_error(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, _answer("x"))
    stage.cut = True
    with pytest.raises(ModelProviderError, match="cannot be reached"):
        await provider.complete(_prompt(stage))


async def test_a_dead_server_is_an_error_that_says_what_to_do(provider: LlamaCppProvider) -> None:
    prompt = Prompt(_spec(f"http://127.0.0.1:{free_port()}"), ASKED, (), Sampling())
    with pytest.raises(ModelProviderError, match="cannot be reached") as caught:
        await provider.complete(prompt)
    assert "Start it" in str(caught.value)


async def test_a_model_with_other_control_tokens_is_refused(stage: Stage, provider: LlamaCppProvider) -> None:
    stage.tokens = lambda content, special: [7, 8] if special else [7] * len(content)
    with pytest.raises(ModelProviderError, match="no control token"):
        await provider.complete(_prompt(stage))


async def test_a_registration_without_url_or_with_an_unknown_codec_is_a_configuration_error(
    stage: Stage, provider: LlamaCppProvider
) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        await provider.complete(Prompt(_spec(None), ASKED, (), Sampling()))
    with pytest.raises(ConfigurationError, match="klingon"):
        await provider.complete(Prompt(_spec(stage.url, codec="klingon"), ASKED, (), Sampling()))


def _events(*chunks: object) -> tuple[int, bytes]:
    return 200, b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def _chunk(text: str, number: int) -> dict[str, object]:
    return {
        "content": text,
        "tokens": [number],
        "stop": False,
        "completion_probabilities": [{"id": number, "logprob": -0.1}],
    }


END = _answer("", 0)


async def _streamed(provider: LlamaCppProvider, prompt: Prompt) -> tuple[list[str], Completed]:
    *pieces, last = [piece async for piece in provider.stream(prompt)]
    assert isinstance(last, Completed)
    return [str(piece) for piece in pieces], last


async def test_a_stream_shows_text_as_it_comes(stage: Stage, provider: LlamaCppProvider) -> None:
    stage.completion = _events(_chunk("It is", 1), _chunk(" on its", 2), _chunk(" way.", 3), END)
    pieces, completed = await _streamed(provider, _prompt(stage))
    assert pieces == ["It is", " on its", " way."]
    assert completed.message.content == "It is on its way."
    assert completed.sampled is not None
    assert completed.sampled.completion_ids == (1, 2, 3)


async def test_a_stream_shows_nothing_of_a_call(stage: Stage, provider: LlamaCppProvider) -> None:
    call = '<tool_call>{"name":"erp_get_order","arguments":{"order_id":1}}</tool_call>'
    stage.completion = _events(*(_chunk(letter, number) for number, letter in enumerate(call)), END)
    pieces, completed = await _streamed(provider, _prompt(stage))
    assert pieces == []
    assert completed.message.tool_calls[0].arguments == {"order_id": 1}


async def test_a_stream_that_ends_early_is_an_error(stage: Stage, provider: LlamaCppProvider) -> None:
    stage.completion = _events(_chunk("It is", 1))
    with pytest.raises(ModelProviderError, match="ended before"):
        await _streamed(provider, _prompt(stage))


Sender = Callable[[LlamaCppProvider, Prompt], object]


async def test_a_stream_that_is_refused_is_an_error(stage: Stage, provider: LlamaCppProvider) -> None:
    _say(stage, {"error": {"message": "no"}}, 400)
    with pytest.raises(RequestError, match="400: no"):
        await _streamed(provider, _prompt(stage))


async def test_what_was_sampled_is_never_tokenised_again(stage: Stage, provider: LlamaCppProvider) -> None:
    previous = Sampled(prompt_ids=(1, 2, 3), completion_ids=(40, 7), logprobs=(-1.0, -1.0))
    messages = (*ASKED, Message(role="assistant", content="Which?"), Message(role="user", content="1042"))
    _say(stage, _answer("Shipped.", tokens_evaluated=13))
    prompt = Prompt(_spec(stage.url), messages, (), Sampling(), previous=previous, covered=2, continued="mc_1")
    completed = await provider.complete(prompt)
    assert completed.sent is not None
    assert completed.sent.continued == "mc_1"
    # Newline, start, role, text, end, newline, start, role: what follows a turn that ended with the stop token (7).
    assert completed.sampled is not None
    assert completed.sampled.prompt_ids[:5] == (1, 2, 3, 40, 7)
    assert len(completed.sampled.prompt_ids) == 13
