"""A llama.cpp server's own tokeniser, asked by whoever checks a record."""

from collections.abc import Sequence

import httpx
from pydantic import JsonValue, TypeAdapter, ValidationError

from practicum.codecs.codec import Piece
from practicum.contracts.base import Value
from practicum.errors import ModelProviderError

_SECONDS = 10.0


class _Answer(Value):
    tokens: tuple[int, ...]


_ANSWER = TypeAdapter(_Answer)


class ServerTokeniser:
    """Tokenises as the server of a model does. Called with pieces, it gives their ids."""

    def __init__(self, url: str, *, api_key: str | None = None) -> None:
        """Take where the server listens; nothing is asked yet.

        Args:
            url: the server's base URL.
            api_key: its key, if it asks for one.
        """
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._controls: dict[str, int] = {}

    def __call__(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The ids of the pieces, each tokenised on its own, only control pieces as control tokens.

        Raises:
            ModelProviderError: the server cannot be reached, or a control piece is no control token of its model.
        """
        for name in {piece.text for piece in pieces if piece.control} - set(self._controls):
            ids = self._asked([name], special=True)
            if len(ids) != 1:
                raise ModelProviderError(f"'{name}' is no control token of the model at {self._url}.")
            self._controls[name] = ids[0]
        mixed: list[JsonValue] = [self._controls[piece.text] if piece.control else piece.text for piece in pieces]
        if all(piece.control for piece in pieces):
            return tuple(self._controls[piece.text] for piece in pieces)
        return self._asked(mixed, special=False)

    def _asked(self, content: list[JsonValue], *, special: bool) -> tuple[int, ...]:
        body = {"content": content, "add_special": False, "parse_special": special}
        try:
            answer = httpx.post(f"{self._url}/tokenize", json=body, headers=self._headers, timeout=_SECONDS)
            answer.raise_for_status()
            return _ANSWER.validate_json(answer.content).tokens
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ModelProviderError(f"The model server at {self._url} did not tokenise: {error}") from error
        except ValidationError as error:
            raise ModelProviderError(f"The model server at {self._url} answered what are no tokens.") from error
