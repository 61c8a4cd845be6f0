"""Credentials as commands are given them: by the place where a secret stands, never the secret itself."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

import typer
from pydantic import TypeAdapter

from practicum.cli.inputs import secret_or_reference_of
from practicum.contracts.connectors import Auth, NoAuth, SchemeAuth, SchemesAuth

_WRITTEN = {
    "api_key": "`api_key:env:CRM_KEY` or `api_key:env:CRM_KEY:header:X-Key` (also `query`, `cookie`)",
    "bearer": "`bearer:env:TOKEN`",
    "basic": "`basic:env:CRM_USER:env:CRM_PASSWORD`",
    "client_credentials": "`client_credentials:env:ERP_ID:env:ERP_SECRET`",
    "authorization_code": "`authorization_code:env:ID:env:REFRESH_TOKEN` or, with a secret, "
    "`authorization_code:env:ID:env:SECRET:env:REFRESH_TOKEN`",
    "client_certificate": "`client_certificate:file:cert.pem:file:key.pem`",
}
_PLACES = (
    "A secret stands in an environment variable, `env:VARIABLE`, or in a file, `file:PATH`, or it stays where the "
    "gateway reads it, `vault:PATH#FIELD` or `mounted:PATH`."
)
_NAMED = "Several: one for each security scheme of the document, `--auth SCHEME=bearer:env:TOKEN`, repeated."
AUTH_FORMS = f"`none`, {', '.join(_WRITTEN.values())}. {_PLACES}"
AUTH_HELP = f"{AUTH_FORMS} {_NAMED}"


def _place(field: str) -> str:
    # The shortest path that leaves the rest its form, so that a path may hold colons.
    return rf"(?P<{field}>env:[^:]+|vault:[^:]+|mounted:[^:]+|file:.+?)"


_SHAPES = {
    "api_key": rf"{_place('value')}(?::(?P<location>header|query|cookie):(?P<name>[^:]+))?",
    "bearer": _place("token"),
    "basic": rf"{_place('username')}:{_place('password')}",
    "client_credentials": rf"{_place('client_id')}:{_place('client_secret')}",
    "authorization_code": rf"{_place('client_id')}:(?:{_place('client_secret')}:)?{_place('refresh_token')}",
    "client_certificate": rf"{_place('certificate')}:{_place('private_key')}",
}
"""What stands behind the kind; the groups are the credential's fields."""

_SAID = frozenset({"location", "name"})
"""Fields that are no secrets and are given as they are."""

_CREDENTIAL: TypeAdapter[SchemeAuth] = TypeAdapter(SchemeAuth)


def auth_of(given: Sequence[str], option: str = "--auth") -> Auth:
    """A credential from `KIND:SECRET...`, or several from `SCHEME=KIND:SECRET...`.

    Args:
        given: what the option says, as often as it was given.
        option: its name, for the error.

    Raises:
        typer.BadParameter: one does not look like a credential, or it cannot be told which one is for what.
        ConfigurationError: a secret it points to is not there.
    """
    named = [_parted(one) for one in given]
    if not named or (len(named) == 1 and named[0] == (None, "none")):
        return NoAuth()
    if len(named) == 1 and named[0][0] is None:
        return _credential(named[0][1], option)
    schemes: dict[str, SchemeAuth] = {}
    for name, form in named:
        if name is None:
            raise typer.BadParameter(
                f"Of several credentials each names its security scheme: {option} SCHEME=bearer:env:TOKEN.",
                param_hint=option,
            )
        credential = _credential(form, option)
        if name in schemes:
            raise typer.BadParameter(f"The scheme {name!r} is given two credentials.", param_hint=option)
        schemes[name] = credential
    return SchemesAuth(schemes=schemes)


def _parted(given: str) -> tuple[str | None, str]:
    """The scheme that a credential is for, if it names one, and the credential."""
    name, equals, form = given.partition("=")
    is_form = given.partition(":")[0] in {"none", *_SHAPES}
    return (None, given) if is_form or not name or not equals else (name, form)


def _credential(form: str, option: str) -> SchemeAuth:
    kind, _, rest = form.partition(":")
    found = re.fullmatch(_SHAPES[kind], rest) if kind in _SHAPES else None
    if found is None:
        # What was given is not repeated: it may be a secret typed where its place should stand.
        raise typer.BadParameter(f"This is no credential. {_advice(kind)}", param_hint=option)
    given = {field: text for field, text in found.groupdict().items() if text is not None}
    fields = {field: text if field in _SAID else secret_or_reference_of(text) for field, text in given.items()}
    return _CREDENTIAL.validate_python({"kind": kind, **fields})


def _advice(kind: str) -> str:
    if kind == "none":
        return "A security scheme without a credential is left out."
    meant = [kind] if kind in _SHAPES else get_close_matches(kind, _SHAPES, n=1)
    return f"Is it {_WRITTEN[meant[0]]}? {_PLACES}" if meant else f"There are: {AUTH_FORMS}"
