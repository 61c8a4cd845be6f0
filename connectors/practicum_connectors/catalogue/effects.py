"""What a call does to the world, read from method, path and names; a document may say it itself.

The verb alone is a poor witness: `POST /orders/search` only reads, `GET /users/{id}/deactivate` does not, and
`POST /orders/{id}/refund` moves money. Where several effects fit, the one that asks for more care is taken.
"""

import re

from practicum.contracts.tools import Effect
from practicum_connectors.document.operations import VARIABLE, Operation
from practicum_connectors.exchange import SAFE_METHODS

OVERRIDE = "x-practicum-effect"
"""The extension by which a document states the effect of an operation."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READING = _words(
    """search query find list get lookup fetch read show describe browse preview estimate calculate compute filter count
    suggest autocomplete validate simulate aggregate is has can"""
)
"""Verbs that only read, wherever they lead a name."""
_READING_SEGMENTS = _READING | _words("export report compare diff check verify view quote dryrun")
"""Words that only read when they are a whole path segment: `POST /reports/export`, but not `POST /check-runs`."""
_LOOKING = _READING | _words("download check view export compare look report head exists options")
_WRITING = _words("create add insert upsert save put write register")
_MONEY = _words(
    """refund refunds payment payments pay payout payouts charge charges invoice invoices transfer transfers withdrawal
    withdrawals withdraw deposit deposits disbursement disbursements purchase purchases checkout
    reimbursement reimbursements chargeback remittance capture topup"""
)
_DELETING = _words("delete remove purge destroy terminate revoke erase drop wipe trash")
_EXTERNAL = _words(
    """send email emails sms notify notification notifications message messages publish broadcast deploy deployment
    deployments release releases trigger dispatch dispatches run runs execute invite invitation invitations call
    calls webhook fax ship tweet print"""
)
_UPDATING = _words(
    """update edit set modify change activate deactivate enable disable cancel close reopen approve reject archive
    unarchive lock unlock assign unassign start stop restart pause resume reset rename move merge restore complete
    accept decline suspend mark replace rotate retry rerun rollback promote"""
)
_CLEAR_DEEDS = _DELETING | _words(
    """deactivate activate disable enable cancel approve reject unlock unassign restart suspend reopen rollback trigger
    unarchive resume decline unsubscribe logout send refund pay"""
)
"""Words that are no nouns: a safe method whose path ends in one is a deed in disguise."""
_BY_METHOD = {"POST": Effect.CREATE, "PUT": Effect.UPDATE, "PATCH": Effect.UPDATE, "DELETE": Effect.DELETE}
_CARE = list(Effect)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def split_words(text: str) -> list[str]:
    """The words of a name in any of the usual spellings, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def classify(operation: Operation) -> Effect:
    """The effect of an operation."""
    stated = operation.extensions.get(OVERRIDE)
    if isinstance(stated, str) and stated in set(Effect):
        return Effect(stated)
    segments = [segment for segment in re.split(r"[/:]", operation.path.partition("?")[0]) if segment]
    named = [split_words(segment) for segment in segments if not VARIABLE.search(segment)]
    last = named[-1] if named and not VARIABLE.search(segments[-1]) else []
    name = split_words(re.split(r"[/.:]", operation.operation_id or "")[-1])  # behind a group, as in `repos/get`
    if operation.method in SAFE_METHODS:
        return _of_safe_method(last, name)
    return _of_unsafe_method(operation, named, last, name)


def _of_safe_method(last: list[str], name: list[str]) -> Effect:
    """A safe method reads, unless the document calls it a deed: `GET /users/{id}/deactivate`, `deleteAll`."""
    deeds = set(last) & _CLEAR_DEEDS if len(last) == 1 else set[str]()
    if not set(name[:2]) & _LOOKING:
        deeds |= set(name[:1]) & (_CLEAR_DEEDS | _UPDATING | {"publish", "deploy", "notify"})
    if deeds & _DELETING:
        return Effect.DELETE
    if deeds & {"send", "trigger", "publish", "deploy", "notify"}:
        return Effect.EXTERNAL
    if deeds & _MONEY:
        return Effect.MONEY
    return Effect.UPDATE if deeds else Effect.READ


def _of_unsafe_method(operation: Operation, named: list[list[str]], last: list[str], name: list[str]) -> Effect:
    if operation.method == "POST" and _only_reads(last, name):
        return Effect.READ
    found = [_BY_METHOD.get(operation.method, Effect.UPDATE)]
    if ({word for segment in named for word in segment} | set(name)) & _MONEY:
        found.append(Effect.MONEY)
    verbs = {*last, *name[:1]}
    if operation.method == "POST":
        on_something = VARIABLE.search(operation.path) is not None
        if verbs & _DELETING:
            found.append(Effect.DELETE)
        elif on_something and set(last) & _UPDATING:
            found.append(Effect.UPDATE)
    if operation.method != "DELETE" and verbs & _EXTERNAL:
        found.append(Effect.EXTERNAL)
    return max(found, key=_CARE.index)


def _only_reads(last: list[str], name: list[str]) -> bool:
    """`POST /orders/search`, `POST /orders:batchGet`, `searchOrders`; a word for a deed anywhere says otherwise."""
    deeds = _UPDATING | _DELETING | _WRITING
    if {*name, *last} & deeds:
        return False
    if len(last) == 1:
        return last[0] in _READING_SEGMENTS or (
            bool(name) and name[0] in _READING and last[0] not in _EXTERNAL | _MONEY
        )
    if last[:1] and (last[0] in _READING or (last[0] in {"bulk", "batch"} and last[-1] in {"get", "list", "read"})):
        return True
    return bool(name) and name[0] in _READING and not set(last) & (_EXTERNAL | _MONEY)
