"""A model and a system whose every word names the episode that it is for: `python -m benchmarks.nonces PORT`.

What is said follows from the episode's nonce alone, so that whoever knows the nonce knows every byte that its record
has to hold. `GET /seen` tells how often the system was asked each thing, and how often the model answered each turn.
"""

import asyncio
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from benchmarks.upstream import json_answer, serve

NONCE = re.compile(r"n\d{6}x[0-9a-f]{12}")
"""How a nonce looks."""
TURNS = 3
"""How many turns an episode has: one call, two calls at a time, the answer."""
NOTE, ORDER = "orders_add_note", "orders_get_order"
_LETTERS = 'abcdefghij klmnopqrst uvwxyz äöüß éñ 漢字 🧾🚚 "\\/{}[]<>&%\n\t'
_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "


@dataclass(frozen=True)
class Call:
    """A call that the model wishes for.

    Attributes:
        id: the model's id of it.
        tool: its tool.
        arguments: its arguments.
    """

    id: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """What the model says once.

    Attributes:
        text: in words.
        calls: what it wishes for.
        tokens: how many tokens it says it read and wrote.
    """

    text: str
    calls: tuple[Call, ...]
    tokens: tuple[int, int]


def task(nonce: str) -> str:
    """What the episode is to do."""
    return f"Look after the order {nonce}. {words(nonce, 'task', 400)}"


def turn(nonce: str, number: int) -> Turn:
    """What the model says in a turn of an episode."""
    calls = {
        0: (Call(f"{nonce}-0", NOTE, {"text": f"{nonce} first"}),),
        1: (Call(f"{nonce}-1", NOTE, {"text": f"{nonce} second"}), Call(f"{nonce}-2", ORDER, {"id": nonce})),
    }.get(number, ())
    drawn = random.Random(f"{nonce} {number}")  # noqa: S311  # no secret
    text = f"Turn {number} of {nonce}: {words(nonce, str(number), drawn.choice((20, 200, 2_000, 12_000)))} {nonce}"
    return Turn(text, calls, (drawn.randint(100, 9_999), drawn.randint(1, 999)))


def fails(nonce: str, number: int) -> bool:
    """Whether the model is down when this turn is asked for the first time: of one episode in eight, once."""
    return number == 1 and random.Random(f"{nonce} fails").random() < 1 / 8  # noqa: S311  # no secret


def order(nonce: str) -> dict[str, Any]:
    """What the system knows of an order."""
    return {"id": nonce, "customer": "octo", "status": "shipped", "total": 42.5, "note": words(nonce, "order", 3_000)}


def words(nonce: str, of: str, length: int) -> str:
    """Text of its own for each nonce."""
    drawn = random.Random(f"{nonce} {of}")  # noqa: S311  # no secret
    return "".join(drawn.choices(_LETTERS, k=length)).strip()


class Answering:
    """Answers as the model and as the system, and counts."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._asked: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()
        self._down: set[str] = set()

    def __call__(self, asked: str, body: str, transport: asyncio.Transport) -> None:
        """Answer one request."""
        method, _, path = asked.partition(" ")
        if path == "/seen":
            seen = {"asked": self._asked, "answered": self._answered, "down": sorted(self._down)}
            transport.write(json_answer(200, json.dumps(seen).encode()))
        elif path == "/v1/chat/completions":
            transport.write(self._say(json.loads(body)))
        else:
            self._asked[f"{asked} {body}".rstrip()] += 1
            known = order(path.removeprefix("/orders/")) if method == "GET" else {"kept": json.loads(body)}
            transport.write(json_answer(200 if method == "GET" else 201, json.dumps(known).encode()))

    def _say(self, wish: dict[str, Any]) -> bytes:
        user = next(message for message in wish["messages"] if message["role"] == "user")
        found = NONCE.search(str(user["content"]))
        if found is None:
            return json_answer(400, b'{"error": {"message": "There is no nonce in this."}}')
        nonce, number = found[0], sum(message["role"] == "assistant" for message in wish["messages"])
        if fails(nonce, number) and nonce not in self._down:
            self._down.add(nonce)
            return json_answer(500, b'{"error": {"message": "The model is down."}}')
        self._answered[f"{nonce} {number}"] += 1
        return (_streamed if wish.get("stream") else _whole)(turn(nonce, number))


def _whole(said: Turn) -> bytes:
    message = {"role": "assistant", "content": said.text, "tool_calls": [_wish(call) for call in said.calls]}
    choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
    return json_answer(200, json.dumps(_about("chat.completion", [choice]) | {"usage": _usage(said)}).encode())


def _streamed(said: Turn) -> bytes:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": said.text[place : place + 97]} for place in range(0, len(said.text), 97)]
    deltas += [{"tool_calls": [{"index": index, **_wish(call)}]} for index, call in enumerate(said.calls)]
    chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    chunks += [
        _chunk([{"index": 0, "delta": {}, "finish_reason": _finish(said)}]),
        _chunk([]) | {"usage": _usage(said)},
    ]
    body = "".join(f"data: {event}\n\n" for event in (*(json.dumps(chunk) for chunk in chunks), "[DONE]")).encode()
    return _EVENTS + f"{len(body)}\r\n\r\n".encode() + body


def _about(kind: str, choices: list[Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_790_000_000, "model": "nonces", "choices": choices}


def _chunk(choices: list[Any]) -> dict[str, Any]:
    return _about("chat.completion.chunk", choices)


def _wish(call: Call) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _finish(said: Turn) -> str:
    return "tool_calls" if said.calls else "stop"


def _usage(said: Turn) -> dict[str, int]:
    read, wrote = said.tokens
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Answering()))
