"""The one place where whatever a model library raises becomes an error of the house, without the key."""

import re
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import cast

import httpx

from practicum.errors import ModelBusyError, ModelProviderError, PracticumError, RequestError
from practicum_gateway.content import without_keys
from practicum_gateway.models.provider import Prompt

_LIBRARY_PREFIX = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception): )*(?:\w+Exception - )?")
_JSON_FAULT = re.compile(r"Expecting (?:value|property|',')|Extra data|Unterminated string|Invalid \\escape")
_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]+)?")
_TOO_LONG = 400
_LOOKED_AT = 16_384
"""Characters that are looked at; many more than are shown, so that no key is cut before it is taken out."""
_WORTH_ANOTHER_TRY = frozenset({408, 409, 423, 425, 429})
_BUSY = frozenset({429, 503})
_CLIENT_ERROR = 4
_NOT_ALLOWED = frozenset({401, 403})
_NO_SUCH_MODEL = 404


@contextmanager
def provider_errors(prompt: Prompt) -> Generator[None]:
    """Turn what is raised inside into a typed error; typed errors pass as they are.

    Raises:
        ModelProviderError: the provider is down, overloaded or answered garbage: worth another try.
        RequestError: the provider refuses the request itself: another try would fail too.
    """
    try:
        yield
    except PracticumError:
        raise
    except Exception as error:  # noqa: BLE001  # the boundary: libraries of a hundred providers raise what they like
        # Without the cause: its text may hold the key, and a log would print it.
        raise _classified(error, prompt) from None


def _classified(error: Exception, prompt: Prompt) -> PracticumError:
    alias = prompt.spec.alias
    status = getattr(error, "status_code", None)
    said, wait = said_by(error, prompt), asked_wait(_headers(error))
    kind = kind_of(status, wait) if isinstance(status, int) else ModelProviderError
    if kind is not RequestError:
        what = f"failed with {status}" if _headers(error) else "failed"
        return kind(
            f"The provider of model '{alias}' {what}: {said}",
            mend=f"Try again in {wait:g} s." if wait is not None else "Try again; is the model server up?",
            retry_after=wait,
            quoted=None if isinstance(error, httpx.TransportError) else said,  # such a one was not said by anybody
        )
    if status in _NOT_ALLOWED:
        mend = f"Register the alias '{alias}' again with a valid api_key."
    elif status == _NO_SUCH_MODEL:
        mend = f"Check target and base_url of the alias '{alias}'; that of a server of OpenAI's form ends with /v1."
    else:
        mend = None
    return RequestError(f"The provider of model '{alias}' refuses the request with {status}: {said}", mend=mend)


def kind_of(status: int, wait: float | None) -> type[ModelProviderError | RequestError]:
    """Which error a provider's answer is.

    Args:
        status: of the answer, not 2xx.
        wait: seconds that it asked to wait.
    """
    if status in _BUSY and wait is not None:
        return ModelBusyError
    return ModelProviderError if status in _WORTH_ANOTHER_TRY or status // 100 != _CLIENT_ERROR else RequestError


def said_by(error: Exception, prompt: Prompt) -> str:
    """The first line of what the provider said, short, without anything that looks like a key."""
    text = " ".join(str(error)[:_LOOKED_AT].split())
    text = without_keys(_LIBRARY_PREFIX.sub("", text), prompt.api_key).replace("\x00", "")
    if _JSON_FAULT.match(text):
        return f"its answer is not JSON ({text})"
    if len(text) > _TOO_LONG:
        text = text[:_TOO_LONG] + " ..."
    return text or type(error).__name__


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that a provider asked to wait, where its headers say so: in seconds, milliseconds, or as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is not None and _NUMBER.fullmatch(value):
            return float(value) * scale
    return _until(headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    """Seconds until a date as HTTP writes it; None where it is none, or over."""
    try:
        left = parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return round(left, 3) if left > 0 else None


def _headers(error: Exception) -> Mapping[str, str]:
    """The headers of the provider's answer; none where it gave none and the library made a status up."""
    response = getattr(error, "response", None)
    for headers in (getattr(response, "headers", None), getattr(error, "litellm_response_headers", None)):
        if isinstance(headers, Mapping) and headers:
            return cast("Mapping[str, str]", headers)
    return {}
