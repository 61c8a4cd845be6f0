"""A record asked again: what is the same, what differs first, and what cannot be compared."""

from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from practicum.codecs.bodies import chat_body, completion_body, sent
from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import Piece
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall, ModelSpec, Provider, Sampled, Sampling
from practicum.contracts.trajectory import Trajectory
from practicum.errors import ModelProviderError
from practicum.trajectories import Replayed, ServerTokeniser, replay
from practicum.trajectories.replay import Check
from tests.sdk.trajectories.conftest import ANSWER, CALL, RESULT, SYSTEM, TASK, TOOL, Recorded, model_call

CODEC = ChatMLCompact()
SAMPLING = Sampling(temperature=0.5, top_p=1.0, max_tokens=64)
CHAT = ModelSpec(alias="local", provider=Provider.LITELLM, target="openai/gpt")
LLAMA = ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="smol", adapter={0: 1.0})


def toy(pieces: Sequence[Piece]) -> tuple[int, ...]:
    """A token for each character, and one for each control piece."""
    return tuple(
        token for piece in pieces for token in ([1000 + len(piece.text)] if piece.control else map(ord, piece.text))
    )


END = toy((Piece(CODEC.stops[0], control=True),))


def chat_call() -> ModelCall:
    body = chat_body(CHAT.target, (SYSTEM, TASK), (TOOL,), SAMPLING)
    return model_call(0, None, CALL, tools=(TOOL,), sampling=SAMPLING, sent=sent(CHAT, body))


def llama_calls() -> tuple[ModelCall, ModelCall]:
    """A turn rendered whole, and one that goes on from its very tokens."""
    first_ids = toy(CODEC.render((SYSTEM, TASK), ()))
    drawn = (5, *END)
    second_ids = (*first_ids, *drawn, *toy(CODEC.suffix(CALL, (RESULT,), ended=CODEC.stops[0])))
    common: dict[str, Any] = {"sampling": SAMPLING, "template_hash": CODEC.template_hash}

    def asked(ids: tuple[int, ...], continued: str | None) -> Any:
        return sent(LLAMA, completion_body(ids, SAMPLING, LLAMA.adapter, None), continued=continued)

    first = model_call(
        0, Sampled(prompt_ids=first_ids, completion_ids=drawn, logprobs=(-1.0, -1.0)), CALL, sent=asked(first_ids, None)
    ).model_copy(update=common)
    second = model_call(
        1,
        Sampled(prompt_ids=second_ids, completion_ids=drawn, logprobs=(-1.0, -1.0)),
        ANSWER,
        messages=(SYSTEM, TASK, CALL, RESULT),
        sent=asked(second_ids, "m0"),
    ).model_copy(update=common)
    return first, second


def one(trajectory: Trajectory, **options: Any) -> Replayed:
    (found,) = replay(trajectory, **options).calls
    return found


def test_a_request_in_openais_form_is_the_same(recorded: Recorded) -> None:
    found = replay(recorded(model_calls=(chat_call(),)))
    assert found.same
    assert found.calls[0].checked == (Check.REQUEST,)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"messages": (SYSTEM, Message(role="user", content="Other."))},
            "request: 'messages' is another than was sent",
        ),
        ({"tools": ()}, "request: 'tools' was sent and is not now"),
        ({"sampling": Sampling(temperature=0.7, top_p=1.0, max_tokens=64)}, "'temperature' was 0.5 and is 0.7 now"),
        ({"sampling": Sampling(temperature=0.5, max_tokens=64, top_p=1.0, seed=1)}, "'seed' was not sent and is now"),
    ],
)
def test_the_first_difference_is_told(recorded: Recorded, changes: dict[str, Any], told: str) -> None:
    found = replay(recorded(model_calls=(chat_call().model_copy(update=changes),)))
    assert not found.same
    assert told in str(found.calls[0].difference)


def test_prompts_are_rendered_and_tokenised_again(recorded: Recorded) -> None:
    trajectory = recorded(model_calls=llama_calls())
    found = replay(trajectory, tokenisers={"smol@1": toy})
    assert found.same
    assert [call.checked for call in found.calls] == [(Check.TEMPLATE, Check.REQUEST, Check.TOKENS)] * 2
    unasked = replay(trajectory)
    assert [call.unchecked for call in unasked.calls] == [("tokens: its server was not asked",)] * 2


def test_other_tokens_are_told_by_their_place(recorded: Recorded) -> None:
    first, second = llama_calls()

    def drifted(pieces: Sequence[Piece]) -> tuple[int, ...]:
        return tuple(7 if token == ord("U") else token for token in toy(pieces))

    reworded = first.model_copy(update={"messages": (Message(role="system", content="Uou are an agent."), TASK)})
    place = toy(CODEC.render((SYSTEM, TASK), ())).index(ord("Y"))
    told = one(recorded(model_calls=(reworded,)), tokenisers={"smol@1": drifted}).difference
    assert told == f"tokens: token {place} of the prompt was {ord('Y')} and is 7 now"
    shorter = second.model_copy(update={"messages": (SYSTEM, TASK, CALL)})
    found = replay(recorded(model_calls=(first, shorter)), tokenisers={"smol@1": toy})
    assert found.calls[1].difference is not None
    assert found.calls[1].difference.startswith("tokens: ")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"template_hash": "0" * 64}, f"template: 'chatml-compact' was 000000000000 and is {CODEC.template_hash[:12]}"),
        ({"sampling": Sampling(temperature=0.5, top_p=1.0, max_tokens=9)}, "request: 'n_predict' was 64 and is 9 now"),
        ({"constrained": True, "tools": (TOOL,)}, "request: 'grammar' was not sent and is now"),
    ],
)
def test_what_a_llama_server_would_be_asked_otherwise(recorded: Recorded, changes: dict[str, Any], told: str) -> None:
    assert told in str(one(recorded(model_calls=(llama_calls()[0].model_copy(update=changes),))).difference)


def test_what_cannot_be_compared_says_why(recorded: Recorded) -> None:
    first, second = llama_calls()
    assert first.sent is not None
    strange = first.sent.model_copy(update={"codec": "klingon"})
    calls = (
        model_call(0, None, CALL, id="old"),
        model_call(1, None, CALL, id="failed", response=None, standing=Attempt.FAILED),
        model_call(1, None, CALL, id="kept", cached=True),
        first.model_copy(update={"id": "lost", "sampled": None}),
        first.model_copy(update={"id": "strange", "sent": strange}),
        second.model_copy(update={"id": "alone"}),
    )
    found = {call.call: call for call in replay(recorded(model_calls=calls), tokenisers={"smol@1": toy}).calls}
    assert found["old"].unchecked == ("request: it was recorded before requests were kept",)
    assert "of a failed attempt" in found["failed"].unchecked[0]
    assert "nobody was asked" in found["kept"].unchecked[0]
    assert found["lost"].unchecked == (
        "request: the ids of its prompt are not kept",
        "tokens: the ids of its prompt are not kept",
    )
    assert "no codec 'klingon'" in found["strange"].unchecked[0]
    assert "the tokens of m0, which it continued, are not in the record" in found["alone"].unchecked[0]
    assert not any(call.difference for call in found.values())


class Tokens(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = b'{"tokens": [7]}' if b'parse_special": true' in body or b'parse_special":true' in body else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name http.server gave it
        """Keep quiet."""


def test_a_server_that_does_not_tokenise_is_an_error_in_words(recorded: Recorded) -> None:
    with HTTPServer(("127.0.0.1", 0), Tokens) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        tokenise = ServerTokeniser(url)
        assert tokenise((Piece("<|im_end|>", control=True),)) == (7,)
        with pytest.raises(ModelProviderError, match="what are no tokens"):
            tokenise((Piece("x"),))
        server.shutdown()
        thread.join()
    gone = one(recorded(model_calls=llama_calls()[:1]), tokenisers={"smol@1": ServerTokeniser(url)})
    assert gone.difference is None
    assert "did not tokenise" in gone.unchecked[0]
