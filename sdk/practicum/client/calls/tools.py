"""Calls about tools."""

from collections.abc import Mapping
from uuid import uuid4

from pydantic import JsonValue

from practicum.client.call import Call, build, content, path, query, read
from practicum.contracts.tools import CallRequest, Observation, ProfiledTool, Tool


def fetch_all(pattern: str | None = None, *, limit: int | None = None) -> Call[list[Tool]]:
    """The tools on offer.

    Args:
        pattern: glob over `connector.operation`, such as `crm.*`.
        limit: the most to return; the gateway's own bound when absent.
    """
    return Call("GET", "/v1/tools", read(list[Tool]), query=query(pattern=pattern, limit=limit))


def search(wanted: str, *, pattern: str | None = None, limit: int | None = None) -> Call[list[Tool]]:
    """The tools that fit some words best, best first.

    Args:
        wanted: what the tool should do, in words.
        pattern: glob over `connector.operation` that they must match too.
        limit: the most to return; the gateway's own bound when absent.
    """
    return Call("GET", "/v1/tools", read(list[Tool]), query=query(query=wanted, pattern=pattern, limit=limit))


def get(name: str) -> Call[Tool]:
    """One tool.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("GET", path("/v1/tools/{}", name), read(Tool))


def profiled(name: str, profile: str) -> Call[ProfiledTool]:
    """One tool as a family of providers takes it, for whoever hands tools to a model or an MCP client.

    Args:
        name: exposed tool name.
        profile: `openai`, `openai_strict`, `anthropic`, `gemini`, `mcp` (with the hints on its effect) or `local`.

    Raises:
        NotFoundError: there is no such tool.
        RequestError: there is no such profile.
    """
    return Call("GET", path("/v1/tools/{}", name), read(ProfiledTool), query=query(profile=profile))


def call(
    name: str, arguments: Mapping[str, JsonValue] | None = None, *, idempotency_key: str | None = None
) -> Call[Observation]:
    """Call a tool through the gateway's rules, once.

    What the system answered comes back as an observation, also when it refused; look at its `status`.

    Args:
        name: exposed tool name.
        arguments: the tool's arguments.
        idempotency_key: a repeated key returns the recorded outcome and calls nothing; one is made when absent.

    Raises:
        NotFoundError: there is no such tool.
        CallError: the arguments do not fit the tool.
        InDoubtError: the gateway's answer was lost; the error says how to ask for the outcome.
    """
    key = idempotency_key or uuid4().hex
    return Call(
        "POST",
        path("/v1/tools/{}/call", name),
        read(Observation),
        body=build(CallRequest, "call", arguments=dict(arguments or {}), idempotency_key=key),
        if_lost=f"Repeat the same call with idempotency_key='{key}': it returns the outcome and does nothing twice.",
    )


def artifact(id: str, episode: str | None = None) -> Call[bytes]:  # noqa: A002
    """The bytes of an artifact, as the system gave them; seven days after it was answered they are gone.

    Args:
        id: of the artifact, from an observation.
        episode: the episode in which it was answered, if it was in one.

    Raises:
        NotFoundError: there is none of this id for who asks, or no longer.
    """
    return Call("GET", path("/v1/artifacts/{}", id), content, query=query(episode=episode))
