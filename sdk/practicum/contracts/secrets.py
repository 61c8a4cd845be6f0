"""References to secrets that are kept outside: each stands where the secret itself would.

    secret://vault/crm/api#key     the field `key` of `crm/api` in the gateway's Vault or OpenBao (KV version 2)
    secret://mounted/crm/api-key   the file `crm/api-key` in the gateway's folder of mounted secrets

Both are looked for below what belongs to the tenant, so that nobody can name another tenant's.
"""

import re
from typing import Literal, cast

from practicum.contracts.base import Value

SCHEME = "secret://"
"""What a reference begins with."""
DEFAULT_FIELD = "value"
"""The field that is read where a reference to a vault names none."""

_SEGMENT = r"[A-Za-z0-9_@=+-][A-Za-z0-9_.@=+-]*"
_FORM = re.compile(
    rf"secret://(?P<store>vault|mounted)/(?P<path>{_SEGMENT}(?:/{_SEGMENT})*)(?:#(?P<field>{_SEGMENT}))?"
)
_LONGEST = 500


class SecretReference(Value):
    """Where a secret is kept.

    Attributes:
        store: in which of the gateway's stores.
        path: its place there.
        field: which part of it.
    """

    store: Literal["vault", "mounted"]
    path: str
    field: str | None = None

    def __str__(self) -> str:
        return f"{SCHEME}{self.store}/{self.path}{f'#{self.field}' if self.field else ''}"


def is_reference(text: str) -> bool:
    """Whether a text is meant as a reference, well formed or not: a slip of the pen is not sent as a credential."""
    return text.lstrip().lower().startswith(SCHEME)


def reference_of(text: str) -> SecretReference:
    """A reference from its text.

    Raises:
        ValueError: it is none.
    """
    found = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or (found["store"] == "mounted" and found["field"]):
        raise ValueError("a reference is secret://vault/PATH#FIELD or secret://mounted/PATH, without dots in front")
    return SecretReference(
        store=cast("Literal['vault', 'mounted']", found["store"]), path=found["path"], field=found["field"]
    )
