"""Profiles: one tool as each family of providers takes it, and the way back to the tool's own arguments."""

from collections.abc import Mapping
from types import MappingProxyType

from practicum_connectors.catalogue.profiles.anthropic import Anthropic
from practicum_connectors.catalogue.profiles.gemini import Gemini
from practicum_connectors.catalogue.profiles.local import Local
from practicum_connectors.catalogue.profiles.mcp import Mcp
from practicum_connectors.catalogue.profiles.openai import OpenAI, OpenAIStrict
from practicum_connectors.catalogue.profiles.profile import Profile, Profiled, within

__all__ = ["PROFILES", "Profile", "Profiled", "within"]

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {profile.name: profile for profile in (OpenAI(), OpenAIStrict(), Anthropic(), Gemini(), Mcp(), Local())}
)
"""All profiles, by name."""
