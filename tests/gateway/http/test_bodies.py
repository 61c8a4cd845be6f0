"""Bodies: JSON that every reader takes alike, or one clear refusal."""

import gzip
import json

import httpx
import pytest
from starlette.exceptions import HTTPException

from practicum_gateway.http.bodies import MOST_LEVELS, read_json
from tests.gateway.http.test_doors import problem_of

HALF = rb'"\ud800"'
REFUSED = {
    b"": "is not JSON",
    b"{": "is not JSON",
    b"[1] 2": "is not JSON",
    b"\xff": "UTF-8",
    "[1]".encode("utf-16"): "UTF-8",
    b"[NaN]": "NaN",
    b"[-Infinity]": "-Infinity",
    b"[1e999]": "larger",
    b"9" * 5000: "digits",
    b'{"a": {"b": 1, "b": 2}}': "twice",
    b"[" + HALF + b"]": "surrogate",
    b'{"a": {' + HALF + b": 1}}": "surrogate",
    b"[" * (MOST_LEVELS + 1) + b"]" * (MOST_LEVELS + 1): "levels deep",
    b"[" * 100_000 + b"]" * 100_000: "levels deep",
    b'{"a":' * 100_000: "levels deep",
}


@pytest.mark.parametrize("body", REFUSED, ids=lambda body: repr(body[:12]))
def test_what_readers_take_differently_is_refused_in_words(body: bytes) -> None:
    with pytest.raises(HTTPException) as refused:
        read_json(body)
    assert refused.value.status_code == 400
    assert REFUSED[body] in refused.value.detail


TAKEN = (
    b'{"a": [1, 2.5, -0.0, true, null, "\\ud83d\\ude00 \\u0000 \\\\ud800"]}',
    b"[" * MOST_LEVELS + b"]" * MOST_LEVELS,
    b'["' + b"[" * 1000 + b'"]',
    b"[" + b"[]," * 10_000 + b"[]]",
    str(2**200).encode(),
    "{'é': 'ü'}".replace("'", '"').encode(),
)


@pytest.mark.parametrize("body", TAKEN, ids=lambda body: repr(body[:12]))
def test_what_is_json_is_read_as_it_stands(body: bytes) -> None:
    assert read_json(body) == json.loads(body)


async def test_a_broken_body_is_a_problem_that_does_not_repeat_it(gateway: httpx.AsyncClient) -> None:
    for body in (b'{"secret-canary', b'{"secret-canary": NaN}', b'{"secret-canary": 1, "secret-canary": 2}'):
        answer = await gateway.post("/v1/keys", content=body, headers={"Content-Type": "application/json"})
        assert (problem_of(answer).status, problem_of(answer).code) == (400, "request")
        assert "canary" not in answer.text


async def test_a_body_that_would_unfold_is_not_taken(gateway: httpx.AsyncClient) -> None:
    bomb = gzip.compress(b'{"principal": "' + b"a" * 50_000_000 + b'", "role": "agent"}')
    for coding in ("gzip", "GZIP", "br", "deflate, gzip"):
        headers = {"Content-Type": "application/json", "Content-Encoding": coding}
        answer = await gateway.post("/v1/keys", content=bomb, headers=headers)
        assert (problem_of(answer).status, problem_of(answer).code) == (415, "request"), coding


async def test_only_json_is_taken_for_json(gateway: httpx.AsyncClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "a/b/c"):
        answer = await gateway.post(
            "/v1/keys", content=b'{"principal": "ann", "role": "admin"}', headers={"Content-Type": kind}
        )
        assert problem_of(answer).status == 422, kind
    assert len((await gateway.get("/v1/keys")).json()) == 3
