"""The opening of `practicum.stages`, under the name that the gateway's callers know."""

from practicum.stages.opening import DEFAULT_SYSTEM, opening

__all__ = ["DEFAULT_SYSTEM", "opening"]
