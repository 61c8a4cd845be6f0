"""Vectors of texts by whichever registered model makes them, each asked for once."""

import math
from array import array
from collections import OrderedDict
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from practicum.contracts.base import JsonObject
from practicum.errors import ModelProviderError
from practicum_gateway.models.router import Models

_AT_ONCE = 64
"""Texts of one request."""
_KEPT = 4096
"""Vectors that are kept; those used longest ago go first."""


class Embeddings:
    """Unit vectors of texts."""

    def __init__(self, models: Models) -> None:
        """Ask these models."""
        self._models = models
        self._known: OrderedDict[tuple[str, str], Sequence[float]] = OrderedDict()

    async def vectors(self, name: str, texts: Sequence[str]) -> tuple[Sequence[float], ...]:
        """The vector of each text, of length 1.

        Args:
            name: the model, as `alias` or `alias@version`.
            texts: any number; those that were asked for lately are not sent again.

        Raises:
            NotFoundError: there is no such model.
            ModelProviderError: the model's server is down, or answered what are no vectors.
            RequestError: the provider refuses it, as one does whose model makes no vectors.
        """
        version = await self._models.version(name)
        found = {text: vector for text in texts if (vector := self._known.get((version, text))) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            answer = await self._models.embed(name, part)
            found |= zip(part, read_vectors(answer, len(part), name), strict=True)
        for text, vector in found.items():
            self._known[version, text] = vector
            self._known.move_to_end((version, text))
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return tuple(found[text] for text in texts)


class _Part(BaseModel):
    # A server may say more than is read here.
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Embedding(_Part):
    index: int
    embedding: list[FiniteFloat] = Field(min_length=1)


class _Answer(_Part):
    data: list[_Embedding]


def read_vectors(answer: JsonObject, count: int, where: str) -> list[Sequence[float]]:
    """The vectors in an answer of OpenAI's form, each brought to length 1, in the order of the texts.

    Args:
        answer: the answer.
        count: how many texts were sent.
        where: the model, for the message of an error.

    Raises:
        ModelProviderError: it does not hold one vector for each text, all of one width and none of them zero.
    """
    try:
        found = sorted(_Answer.model_validate(answer).data, key=lambda each: each.index)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _garbled(where, f"{place}: {first['msg']}") from None
    if [each.index for each in found] != list(range(count)):
        raise _garbled(where, f"{count} texts were sent and {len(found)} vectors came back")
    if len({len(each.embedding) for each in found}) > 1:
        raise _garbled(where, "they are not of one width")
    return [_unit(each.embedding, where) for each in found]


def _unit(values: list[float], where: str) -> Sequence[float]:
    length = math.hypot(*values)
    if not length or not math.isfinite(length):
        raise _garbled(where, "one has no direction")
    return array("f", [value / length for value in values])


def _garbled(where: str, why: str) -> ModelProviderError:
    return ModelProviderError(
        f"The model '{where}' answered what are no vectors of the texts: {why}.",
        mend="Is it an embedding model? Register the right one under this alias.",
    )
