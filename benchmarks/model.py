"""A model server on loopback that speaks OpenAI's form and answers at once: `python -m benchmarks.model PORT`.

Asked for token ids, it gives them and the logprobs as vLLM does. A streamed answer comes in some 20 pieces.
"""

import asyncio
import json
import sys
from typing import Any

from benchmarks.upstream import json_answer, serve

TEXT = "The order 1042 was shipped on Monday and will be with the customer by Thursday , octo says so ."
"""What it says, each word a token."""
WORDS = TEXT.split()
FIRST = WORDS[0]
"""What the first piece of every answer holds."""
PROMPT_TOKENS = 600
"""Tokens of every prompt."""
_PIECES = [f"{word} " for word in WORDS]
_USAGE = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": len(WORDS), "total_tokens": PROMPT_TOKENS + len(WORDS)}
_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def _about(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_790_000_000, "model": "bench"}


def _logprobs(pieces: list[str]) -> dict[str, Any]:
    return {"content": [{"token": piece, "logprob": -0.25, "bytes": None, "top_logprobs": []} for piece in pieces]}


def whole(*, ids: bool) -> bytes:
    """The whole answer, as it goes over the wire."""
    message = {"role": "assistant", "content": "".join(_PIECES)}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    answer = _about("chat.completion") | {"choices": [choice], "usage": _USAGE}
    if ids:
        choice |= {"logprobs": _logprobs(_PIECES), "token_ids": list(range(len(_PIECES)))}
        answer["prompt_token_ids"] = list(range(PROMPT_TOKENS))
    return json_answer(200, json.dumps(answer).encode())


def pieces(*, ids: bool) -> list[bytes]:
    """The pieces of a streamed answer, as they go over the wire."""
    told = {"prompt_token_ids": list(range(PROMPT_TOKENS))} if ids else {}
    chunks = [_chunk({"role": "assistant", "content": ""}) | told]
    for number, piece in enumerate(_PIECES):
        drawn = {"logprobs": _logprobs([piece]), "token_ids": [number]} if ids else {}
        chunks.append(_chunk({"content": piece}, **drawn))
    chunks += [_chunk({}, finish_reason="stop"), _about("chat.completion.chunk") | {"choices": [], "usage": _USAGE}]
    events = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    return [_STREAM_HEAD, *(_framed(f"data: {event}\n\n".encode()) for event in events), b"0\r\n\r\n"]


def _chunk(delta: dict[str, Any], **told: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": None} | told
    return _about("chat.completion.chunk") | {"choices": [choice]}


def _framed(piece: bytes) -> bytes:
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


async def main() -> None:
    """Serve until ended."""
    answers = {(False, ids): [whole(ids=ids)] for ids in (False, True)}
    answers |= {(True, ids): pieces(ids=ids) for ids in (False, True)}

    def answer(asked: str, body: str, transport: asyncio.Transport) -> None:
        wish: dict[str, Any] = json.loads(body) if asked.startswith("POST") else {}
        for piece in answers[bool(wish.get("stream")), bool(wish.get("return_token_ids"))]:
            transport.write(piece)

    await serve(int(sys.argv[1]), answer)


if __name__ == "__main__":
    asyncio.run(main())
