"""Answers that are given again: only where a registration says for how long, and only to the very same question."""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from practicum.contracts.base import JsonObject
from practicum.contracts.models import Usage
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.versions import version_of

_KEPT = 1_000
"""Answers that are kept; those used longest ago go first."""


class Answers:
    """The answers of one tenant's models, in this process's memory alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet.

        Args:
            clock: seconds that only go on.
        """
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, Completed]] = OrderedDict()

    def known(self, prompt: Prompt) -> Completed | None:
        """The answer to a prompt, where the same was answered lately enough; it cost nothing and has no tokens."""
        seconds = _seconds(prompt)
        if seconds is None:
            return None
        key = _key(prompt)
        at, completed = self._known.get(key, (0.0, None))
        if completed is None or self._clock() - at > seconds:
            return None
        self._known.move_to_end(key)
        return completed

    def keep(self, prompt: Prompt, completed: Completed) -> None:
        """Keep an answer, if its model's registration wants answers kept and nothing about it was left to chance."""
        if _seconds(prompt) is None:
            return
        kept = replace(completed, cached=True, usage=Usage(), sampled=None, tokens_from=None, sent=None, cost=None)
        self._known[_key(prompt)] = (self._clock(), kept)
        self._known.move_to_end(_key(prompt))
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)


def _seconds(prompt: Prompt) -> int | None:
    """For how long an answer may be given again; None where it may not."""
    repeatable = prompt.sampling.temperature == 0 or prompt.sampling.seed is not None
    return prompt.spec.cache_seconds if repeatable and not prompt.anew else None


def _key(prompt: Prompt) -> str:
    """What the answer depends on: the version with all that is said of it, and everything that it is sent."""
    asked: JsonObject = {
        "version": version_of(prompt.spec),
        "spec": prompt.spec.model_dump(mode="json", exclude={"api_key", "cache_seconds"}),
        "messages": [message.model_dump(mode="json") for message in prompt.messages],
        "tools": [tool.model_dump(mode="json") for tool in prompt.tools],
        "definitions": None if prompt.definitions is None else list(prompt.definitions),
        "sampling": prompt.sampling.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
