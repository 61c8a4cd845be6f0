"""How tools are written for a model: in the form of its provider, or as its codec renders them. Pure."""

import json
from collections.abc import Iterator, Sequence

from practicum.codecs.codec import text_of
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.tools import ProfiledTool, Tool
from practicum.episode.disclosure import exceeds
from practicum.episode.offering import definition
from practicum.errors import RequestError
from practicum_connectors.catalogue.profiles import PROFILES, Profile
from practicum_gateway.models.llama_cpp import DEFAULT_CODEC

_NO_FUNCTIONS = "mcp"
"""Of all profiles the one that no chat model takes."""
_FUNCTIONS = tuple(name for name in PROFILES if name != _NO_FUNCTIONS)
_BY_TARGET = (
    ("openai/", "openai"),
    ("anthropic/", "anthropic"),
    ("gemini/", "gemini"),
    ("vertex_ai/gemini", "gemini"),
)
"""Providers that are told by the beginning of a target. Others may stand before any model, so nothing is guessed."""


def profile_of(spec: ModelSpec) -> str | None:
    """Name of the profile in which tools are written for a model; None where they are written as they are."""
    if spec.provider is not Provider.LITELLM or spec.tool_profile is not None:
        return spec.tool_profile
    return next((profile for beginning, profile in _BY_TARGET if spec.target.startswith(beginning)), None)


def check_profile(spec: ModelSpec) -> None:
    """See that the profile of a registration means something.

    Raises:
        RequestError: it is unknown, no chat model takes it, or the model's codec renders tools anyway.
    """
    name = spec.tool_profile
    if name is None:
        return
    if spec.provider.renders:
        raise RequestError(
            f"The codec of '{spec.alias}' renders its tools: tool_profile would do nothing.", mend="Leave it out."
        )
    if name == _NO_FUNCTIONS:
        raise RequestError(f"The profile '{name}' is for MCP clients, not for models.", mend=_known(_FUNCTIONS))
    _profile(name, _FUNCTIONS)


def profiled(tool: Tool, name: str) -> ProfiledTool:
    """A tool in the form of a provider, with what that form cannot say.

    Raises:
        RequestError: there is no such profile; the error names those there are.
    """
    made = _profile(name, tuple(PROFILES)).tool(tool)
    return ProfiledTool(name=tool.name, profile=name, definition=made.definition, notes=made.notes)


def function(tool: Tool, profile: str | None) -> JsonObject:
    """A tool as chat completions define it, its schema in the form of a profile."""
    if profile is None:
        return definition(tool)
    made = PROFILES[profile].tool(tool).definition
    if "function" in made:
        return made
    schema = made.get("input_schema", made.get("parameters", {"type": "object", "properties": {}}))
    described = {"name": tool.name, "description": made["description"], "parameters": schema}
    return {"type": "function", "function": described}


def restored(tool: Tool, arguments: JsonObject, profile: str | None) -> JsonObject:
    """Arguments that a model wrote for a tool in the form of a profile, as the tool itself takes them."""
    return arguments if profile is None else PROFILES[profile].tool(tool).restore(arguments)


def too_many(tools: Sequence[Tool], spec: ModelSpec) -> bool:
    """Whether tools exceed what a model's prompts have room for, in the form in which they would be sent."""
    return exceeds(_written(tools, spec), spec.tool_tokens)


def _written(tools: Sequence[Tool], spec: ModelSpec) -> Iterator[str]:
    if spec.provider.renders:
        yield text_of(codec_named(spec.codec or DEFAULT_CODEC).render((), tools))
        return
    profile = profile_of(spec)
    for tool in tools:
        yield json.dumps(function(tool, profile), ensure_ascii=False, separators=(",", ":"))


def _profile(name: str, known: Sequence[str]) -> Profile:
    if name not in known:
        raise RequestError(f"There is no profile '{name}'.", mend=_known(known))
    return PROFILES[name]


def _known(names: Sequence[str]) -> str:
    return f"Known are: {', '.join(names)}."
