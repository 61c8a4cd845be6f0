"""Providers that asked to be left alone for a while: until then they are not asked, whoever wants to."""

import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from practicum.errors import ModelBusyError
from practicum_gateway.models.provider import Prompt

_LONGEST = 900.0
"""The most seconds that a provider is left alone, whatever it asks for: as long as a driver would wait."""
_SPREAD = 0.1
"""By which part of the wait, and at least a second, callers are told apart, so that they do not come back at once."""


class Rests:
    """Who rests, and until when; the gateway itself never asks again, that is its caller's to do."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        """Nobody rests yet.

        Args:
            clock: seconds that only go on.
            chance: a number from 0 to 1, another each time.
        """
        self._clock = clock
        self._chance = chance
        self._until: dict[tuple[str | None, ...], float] = {}

    @contextmanager
    def heeded(self, prompt: Prompt) -> Generator[None]:
        """Ask a provider inside; what it then asks for holds for whoever comes next.

        The model, its server and its key tell one provider from another, since limits are kept for these.

        Raises:
            ModelBusyError: it rests; it is not asked.
        """
        spec = prompt.spec
        whom = (spec.provider, spec.base_url, spec.target, prompt.api_key)
        left = self._until.get(whom, 0.0) - self._clock()
        if left > 0:
            wait = left + self._chance() * max(1.0, left * _SPREAD)
            raise ModelBusyError(
                f"The provider of model '{spec.alias}' asked not to be asked for another {left:.0f} s.",
                mend=f"Try again in {wait:.0f} s, or name a fallback: `practicum models fallbacks {spec.alias} OTHER`.",
                retry_after=wait,
            )
        self._until.pop(whom, None)
        try:
            yield
        except ModelBusyError as error:
            if error.retry_after is not None:
                self._until[whom] = self._clock() + min(error.retry_after, _LONGEST)
            raise
