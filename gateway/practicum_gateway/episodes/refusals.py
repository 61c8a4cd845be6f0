"""The refusals of `practicum.episode`, under the name that the gateway's callers know."""

from practicum.episode.refusals import refusal

__all__ = ["refusal"]
