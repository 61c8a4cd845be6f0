"""The gateway's clients; the only room of the SDK that touches httpx."""

from practicum.client.asynchronous import AsyncEpisodeHandle, AsyncPracticum
from practicum.client.blocking import EpisodeHandle, Practicum

__all__ = ["AsyncEpisodeHandle", "AsyncPracticum", "EpisodeHandle", "Practicum"]
