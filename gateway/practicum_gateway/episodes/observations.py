"""The wording of `practicum.episode`, under the name that the gateway's callers know."""

from practicum.episode.observations import told

__all__ = ["told"]
