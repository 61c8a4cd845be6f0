"""Where credentials stand: a declaration names an environment variable or a file, or a store that the gateway reads.

Never the credential itself.
"""

from collections.abc import Callable

from pydantic import BaseModel, JsonValue

from practicum.contracts.connectors import (
    ApiKeyAuth,
    AuthorizationCodeAuth,
    BasicAuth,
    BearerAuth,
    ClientCertificateAuth,
    ClientCredentialsAuth,
)
from practicum.contracts.models import ModelSpec
from practicum.contracts.secrets import SCHEME, reference_of
from practicum.declaration.faults import Faults, Path, Source
from practicum.errors import ConfigurationError

CREDENTIALS: tuple[type[BaseModel], ...] = (
    ApiKeyAuth,
    AuthorizationCodeAuth,
    BasicAuth,
    BearerAuth,
    ClientCertificateAuth,
    ClientCredentialsAuth,
)
SECRET = frozenset(
    name for form in (*CREDENTIALS, ModelSpec) for name, field in form.model_fields.items() if not field.repr
)
"""Fields that hold a secret: what the contracts never show."""
PLACES = ("env:", "file:")
_STORES = ("vault:", "mounted:")
_ADVICE = (
    "a credential never stands in this file: name its place, `env:VARIABLE` or `file:PATH`, "
    "or `vault:PATH#FIELD` or `mounted:PATH` where the gateway reads it itself."
)


def is_place(value: object) -> bool:
    """Whether a value names where something stands."""
    return isinstance(value, str) and value.startswith(PLACES) and bool(value.partition(":")[2])


def followed(
    value: JsonValue, source: Source, path: Path, secret_at: Callable[[str], str], faults: Faults
) -> JsonValue:
    """A credential with what stands at the places that it names.

    Args:
        value: what the file says.
        source: the file.
        path: where in it.
        secret_at: reads a place; raises `ConfigurationError` where there is nothing.
        faults: notes what is missing, and a secret that stands in the file itself.
    """
    if isinstance(value, dict):
        return {name: followed(each, source, (*path, name), secret_at, faults) for name, each in value.items()}
    if isinstance(value, str) and is_place(value):
        try:
            return secret_at(value)
        except ConfigurationError as error:
            faults.add(source, path, f"{error.detail} {error.mend or ''}".strip())
            return "-"
    if isinstance(value, str) and value.startswith((SCHEME, *_STORES)):
        return _reference(value, source, path, faults)
    if path[-1] in SECRET and value is not None:
        faults.add(source, path, _ADVICE)
        return "-"
    return value


def _reference(text: str, source: Source, path: Path, faults: Faults) -> str:
    """A reference as the gateway takes it: it reads there itself, and nothing is read here."""
    kind, _, rest = text.partition(":")
    try:
        return str(reference_of(text if text.startswith(SCHEME) else f"{SCHEME}{kind}/{rest}"))
    except ValueError as error:
        faults.add(source, path, f"{error}.")
        return "-"
