"""How long a conversation a server takes, and what kind of server it is, as it says itself where it says so."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx

from practicum.contracts.models import ModelSpec, Provider

_SECONDS = 5.0
_MOST_BYTES = 1_000_000
_OWNER_VLLM = "vllm"


@dataclass(frozen=True, slots=True)
class Told:
    """What a server tells of itself.

    Attributes:
        longest: tokens of a prompt and its answer together.
        vllm: whether it is vLLM's.
        template: the chat template of its model, where it tells it.
    """

    longest: int | None = None
    vllm: bool = False
    template: str | None = None


async def told_by(spec: ModelSpec, api_key: str | None) -> Told:
    """What a self-hosted server tells of itself; nothing where it tells nothing, or belongs to a provider."""
    if spec.base_url is None:
        return Told()
    where = "/props" if spec.provider is Provider.LLAMA_CPP else "/models"
    headers = {"Accept-Encoding": "identity"} | ({} if api_key is None else {"Authorization": f"Bearer {api_key}"})
    try:
        async with httpx.AsyncClient(timeout=_SECONDS, headers=headers) as client:
            body = await _body(client, spec.base_url.rstrip("/") + where)
        answer: object = json.loads(body)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return Told()
    return read_props(answer) if spec.provider is Provider.LLAMA_CPP else read_models(answer, spec.target)


def read_props(answer: object) -> Told:
    """What llama.cpp's `/props` says. Pure."""
    templates = (_member(answer, name) for name in ("chat_template_tool_use", "chat_template"))
    template = next((found for found in templates if isinstance(found, str) and found), None)
    return Told(_number(_member(answer, "default_generation_settings"), "n_ctx"), template=template)


def read_models(answer: object, target: str) -> Told:
    """What the model list of an OpenAI-compatible server says of a target. Pure."""
    entries = list(_entries(_member(answer, "data")))
    named = [entry for entry in entries if target == entry.get("id") or target.endswith(f"/{entry.get('id')}")]
    for entry in named or entries[:1]:
        meta = entry.get("meta")
        lengths = (_number(entry, "max_model_len"), _number(meta, "n_ctx"), _number(meta, "n_ctx_train"))
        return Told(next((length for length in lengths if length), None), entry.get("owned_by") == _OWNER_VLLM)
    return Told()


async def _body(client: httpx.AsyncClient, url: str) -> bytes:
    body = b""
    async with client.stream("GET", url) as response:
        response.raise_for_status()
        async for piece in response.aiter_raw():  # what is packed may be of any size once it is not
            body += piece
            if len(body) > _MOST_BYTES:
                raise ValueError("no list of models is that long")
    return body


def _entries(value: object) -> Iterator[Mapping[str, Any]]:
    for entry in cast("list[object]", value) if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield cast("Mapping[str, Any]", entry)


def _member(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, dict) else None


def _number(value: object, name: str) -> int | None:
    found = _member(value, name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None
