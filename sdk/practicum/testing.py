"""Public fakes: a model that says what a test tells it to, behind a real loopback HTTP server.

    with ScriptedModelServer([call("crm_get_order", {"id": 1042}), say("It shipped.")]) as model:
        ...  # point an OpenAI client, a litellm model or the gateway at model.base_url

The server speaks OpenAI chat completions, streamed or not, and keeps every request it saw.
"""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from types import TracebackType
from typing import Any, Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.models import Sampled, Usage

_OK = 200
_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_LIST: TypeAdapter[list[JsonValue]] = TypeAdapter(list[JsonValue])
_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call that the model asks for.

    Attributes:
        name: the tool.
        arguments: its arguments; text is sent as it stands, so that a script can hold broken JSON.
        id: the call's id; made from its place when absent.
    """

    name: str
    arguments: JsonObject | str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers once; `say`, `call`, `fail`, `garbage` and `hang_up` write the usual ones.

    Attributes:
        content: the text.
        tool_calls: the calls it asks for.
        finish_reason: `stop` or `tool_calls`, after what the reply holds, unless given.
        usage: tokens reported; those of `sampled` unless given, and without these 10 and 5.
        sampled: token ids and logprobs, reported as vLLM does (`prompt_token_ids`, `token_ids`, `logprobs`).
        reasoning: what it thought, reported as `reasoning_content`.
        delay: seconds before the answer.
        status: HTTP status; anything but 200 is an OpenAI error with `content` as its message.
        raw: body sent instead of a completion, as it stands.
        disconnect: whether the connection is cut instead of an answer.
    """

    content: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    sampled: Sampled | None = None
    reasoning: str | None = None
    delay: float = 0.0
    status: int = 200
    raw: bytes | None = None
    disconnect: bool = False


def say(content: str, *, delay: float = 0.0) -> Reply:
    """A final answer in words."""
    return Reply(content=content, delay=delay)


def call(name: str, arguments: JsonObject | str, *, id: str | None = None) -> Reply:  # noqa: A002  # OpenAI's word
    """A turn that asks for one tool call; for several use `Reply(tool_calls=...)`."""
    return Reply(tool_calls=(ScriptedCall(name, arguments, id),))


def fail(status: int, message: str = "scripted failure") -> Reply:
    """An HTTP error in OpenAI's form."""
    return Reply(status=status, content=message)


def garbage(raw: bytes = b"<html>not a completion</html>") -> Reply:
    """A body, sent with status 200, that is no completion."""
    return Reply(raw=raw)


def hang_up(*, delay: float = 0.0) -> Reply:
    """A connection cut without an answer."""
    return Reply(disconnect=True, delay=delay)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that the server saw.

    Attributes:
        path: its path.
        headers: its headers, names in lower case.
        body: its JSON body.
    """

    path: str
    headers: dict[str, str] = field(repr=False)
    body: JsonObject

    @property
    def messages(self) -> list[JsonValue]:
        """The conversation sent."""
        messages = self.body.get("messages")
        return messages if isinstance(messages, list) else []


Script = Iterable[Reply] | Callable[[RecordedRequest], Reply]
"""Replies in order, or a function that answers each request."""


class ScriptedModelServer:
    """A model that follows a script, served over OpenAI chat completions on a free loopback port.

    A request past the end of the script is answered with HTTP 500, so that a test which asks too often fails.
    """

    def __init__(self, script: Script = (), *, model: str = "scripted") -> None:
        """Take the script; `start` or `with` begins to serve it.

        Args:
            script: replies in order, or a function from request to reply.
            model: the model name reported.
        """
        self.model = model
        self.requests: list[RecordedRequest] = []
        self._answer = script if callable(script) else None
        self._replies: Iterator[Reply] = iter(()) if callable(script) else iter(tuple(script))
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL, `/v1` included.

        Raises:
            RuntimeError: the server was not started.
        """
        if self._server is None:
            raise RuntimeError("The scripted model does not serve: enter it with `with`, or call start().")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> Self:
        """Begin to serve on a free port."""
        self._stopping.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; replies still held back by their delay are cut off."""
        self._stopping.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def extend(self, *replies: Reply) -> None:
        """Add replies to the end of the script.

        Raises:
            TypeError: the script is a function.
        """
        if self._answer is not None:
            raise TypeError("A script that is a function cannot be extended.")
        with self._lock:
            self._replies = iter((*self._replies, *replies))

    def answer(self, request: RecordedRequest) -> tuple[Reply, int]:
        """Record a request; its reply, after the reply's delay, and its number from 1."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            if self._answer is not None:
                reply = self._answer(request)
            else:
                reply = next(self._replies, fail(500, f"The script ends before request {number}."))
        if reply.delay and self._stopping.wait(reply.delay):
            return hang_up(), number
        return reply, number


def completion(reply: Reply, *, model: str, number: int) -> JsonObject:
    """A reply as an OpenAI chat completion.

    Args:
        reply: what to answer.
        model: the model name reported.
        number: which request this answers; makes ids unique.
    """
    choice: JsonObject = {
        "index": 0,
        "message": _message(reply, number),
        "finish_reason": reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop"),
        "logprobs": None,
    }
    usage = reply.usage or _counted(reply.sampled)
    body: JsonObject = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total,
        },
    }
    if reply.sampled is not None:
        body["prompt_token_ids"] = list(reply.sampled.prompt_ids)
        choice |= _drawn(reply, slice(None))
    return body


def _message(reply: Reply, number: int) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": reply.content}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": asked.id or f"call_{number}_{place}",
                "type": "function",
                "function": {
                    "name": asked.name,
                    "arguments": asked.arguments if isinstance(asked.arguments, str) else json.dumps(asked.arguments),
                },
            }
            for place, asked in enumerate(reply.tool_calls)
        ]
    return message


def _counted(sampled: Sampled | None) -> Usage:
    """What a server counts that is told nothing of it."""
    if sampled is None:
        return Usage(prompt_tokens=10, completion_tokens=5)
    return Usage(prompt_tokens=len(sampled.prompt_ids), completion_tokens=len(sampled.completion_ids))


def _chunks(reply: Reply, whole: JsonObject, *, with_usage: bool) -> Iterator[JsonObject]:
    """A completion as stream chunks: the text in words, each call whole, the finish reason, the usage if asked for.

    Token ids come as vLLM streams them: those of the prompt with the first chunk, those drawn with the chunks' choices.
    """
    base: JsonObject = {key: whole[key] for key in ("id", "created", "model")}
    base["object"] = "chat.completion.chunk"
    choice = _OBJECT.validate_python(_LIST.validate_python(whole["choices"])[0])
    message = _OBJECT.validate_python(choice["message"])
    deltas: list[JsonObject] = [{"content": word} for word in _WORD.findall(reply.content or "")]
    for place, asked in enumerate(_LIST.validate_python(message.get("tool_calls", []))):
        deltas.append({"tool_calls": [{"index": place, **_OBJECT.validate_python(asked)}]})
    prompt = {name: part for name, part in whole.items() if name == "prompt_token_ids"}
    yield {**base, "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}], **prompt}
    for place, delta in enumerate((*deltas, {})):
        last = place == len(deltas)
        part: JsonObject = {"index": 0, "delta": delta, "finish_reason": choice["finish_reason"] if last else None}
        yield {**base, "choices": [part | _drawn(reply, slice(place, None if last else place + 1))]}
    if with_usage:
        yield {**base, "choices": [], "usage": whole["usage"]}


def _drawn(reply: Reply, some: slice) -> JsonObject:
    """Some of the tokens that a reply was drawn as, with their logprobs."""
    if reply.sampled is None:
        return {}
    ids, logprobs = reply.sampled.completion_ids[some], reply.sampled.logprobs[some]
    told: list[JsonValue] = [
        {"token": f"token_id:{token}", "logprob": logprob, "bytes": None, "top_logprobs": []}
        for token, logprob in zip(ids, logprobs, strict=True)
    ]
    return {"token_ids": list(ids), "logprobs": {"content": told}}


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection for its model."""

    def __init__(self, model: ScriptedModelServer, request: Any, address: Any, server: BaseServer) -> None:
        self.model = model  # first, since the base class answers the request while it is made
        super().__init__(request, address, server)

    def do_GET(self) -> None:
        listed: JsonObject = {
            "object": "list",
            "data": [{"id": self.model.model, "object": "model", "created": 0, "owned_by": "practicum"}],
        }
        self._send(200, json.dumps(listed).encode())

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            body = _OBJECT.validate_json(text)
        except ValidationError:
            self._send(400, _error("The body is no JSON object."))
            return
        self._reply(*self.model.answer(RecordedRequest(path=self.path, headers=headers, body=body)))

    def _reply(self, reply: Reply, number: int) -> None:
        asked = self.model.requests[number - 1].body
        if reply.disconnect:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif reply.raw is not None:
            self._send(reply.status, reply.raw)
        elif reply.status != _OK:
            self._send(reply.status, _error(reply.content or "scripted failure"))
        elif asked.get("stream"):
            options = asked.get("stream_options")
            with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
            whole = completion(reply, model=self.model.model, number=number)
            events = [json.dumps(chunk) for chunk in _chunks(reply, whole, with_usage=with_usage)]
            text = "".join(f"data: {event}\n\n" for event in (*events, "[DONE]"))
            self._send(200, text.encode(), "text/event-stream")
        else:
            self._send(200, json.dumps(completion(reply, model=self.model.model, number=number)).encode())

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        # A caller that gave up waiting is part of many scripts, and no fault of the server's.
        with suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name http.server gave it
        """Keep quiet: the requests are recorded, not printed."""


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "scripted", "code": None, "param": None}}).encode()
