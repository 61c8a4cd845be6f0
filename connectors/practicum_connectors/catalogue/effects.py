"""What a call does to the world, read from method, path and names; a document may say it itself.

The verb alone is a poor witness: `POST /orders/search` only reads, `GET /users/{id}/deactivate` does not, and
`POST /orders/{id}/refund` moves money. Where several effects fit, the one that asks for more care is taken.
"""

import re

from practicum.contracts.tools import Effect
from practicum_connectors.catalogue.effect_words import (
    CLEAR_DEEDS,
    DELETING,
    EXTERNAL,
    LOOKING,
    MONEY,
    READING,
    READING_SEGMENTS,
    SENDING,
    UPDATING,
    WRITING,
)
from practicum_connectors.catalogue.shape import moves_money
from practicum_connectors.catalogue.stated import hint, stated
from practicum_connectors.catalogue.stemming import split_words
from practicum_connectors.document.operations import VARIABLE, Operation
from practicum_connectors.document.pointers import Pointers
from practicum_connectors.exchange import SAFE_METHODS

_CONSEQUENTIAL = "x-openai-isConsequential"
_PAGEABLE = "x-ms-pageable"
"""Microsoft's mark of an operation that lists, whatever its method."""
_BY_METHOD = {"POST": Effect.CREATE, "PUT": Effect.UPDATE, "PATCH": Effect.UPDATE, "DELETE": Effect.DELETE}
_CARE = list(Effect)


def classify(operation: Operation, pointers: Pointers) -> Effect:
    """The effect of an operation.

    Args:
        operation: the operation.
        pointers: follows the references in its body.
    """
    said = stated(operation.extensions).effect
    return _hinted(operation, _guessed(operation, pointers)) if said is None else said


def _hinted(operation: Operation, guess: Effect) -> Effect:
    """The guess as a vendor's hints mend it; that a call reads is believed where nothing speaks of deleting."""
    hints = operation.extensions
    if not hints:
        return guess
    if hint(hints, "readOnlyHint") is True and guess is not Effect.DELETE:
        return Effect.READ
    if hint(hints, "destructiveHint") is True and hint(hints, "readOnlyHint") is not True:
        return max(guess, Effect.DELETE, key=_CARE.index)
    if guess is Effect.READ and (hint(hints, "readOnlyHint") is False or hints.get(_CONSEQUENTIAL) is True):
        return Effect.UPDATE
    if guess is Effect.CREATE and _PAGEABLE in hints:
        return Effect.READ
    return guess


def _guessed(operation: Operation, pointers: Pointers) -> Effect:
    segments = [segment for segment in re.split(r"[/:]", operation.path.partition("?")[0]) if segment]
    named = [split_words(segment) for segment in segments if not VARIABLE.search(segment)]
    last = named[-1] if named and not VARIABLE.search(segments[-1]) else []
    name = split_words(re.split(r"[/.:]", operation.operation_id or "")[-1])  # behind a group, as in `repos/get`
    if operation.method in SAFE_METHODS:
        return _of_safe_method(last, name)
    effect = _of_unsafe_method(operation, named, last, name)
    pays = effect in {Effect.CREATE, Effect.UPDATE, Effect.EXTERNAL} and moves_money(operation.body, pointers)
    return Effect.MONEY if pays else effect


def _of_safe_method(last: list[str], name: list[str]) -> Effect:
    """A safe method reads, unless the document calls it a deed: `GET /users/{id}/deactivate`, `deleteAll`."""
    deeds = set(last) & CLEAR_DEEDS if len(last) == 1 else set[str]()
    if not set(name[:2]) & LOOKING:
        deeds |= set(name[:1]) & (CLEAR_DEEDS | UPDATING | SENDING)
    if deeds & DELETING:
        return Effect.DELETE
    if deeds & SENDING:
        return Effect.EXTERNAL
    if deeds & MONEY:
        return Effect.MONEY
    return Effect.UPDATE if deeds else Effect.READ


def _of_unsafe_method(operation: Operation, named: list[list[str]], last: list[str], name: list[str]) -> Effect:
    if operation.method == "POST" and _only_reads(last, name):
        return Effect.READ
    found = [_BY_METHOD.get(operation.method, Effect.UPDATE)]
    if ({word for segment in named for word in segment} | set(name)) & MONEY:
        found.append(Effect.MONEY)
    verbs = {*last, *name[:1]}
    if operation.method == "POST":
        on_something = VARIABLE.search(operation.path) is not None
        if verbs & DELETING:
            found.append(Effect.DELETE)
        elif on_something and set(last) & UPDATING:
            found.append(Effect.UPDATE)
    if operation.method != "DELETE" and verbs & EXTERNAL:
        found.append(Effect.EXTERNAL)
    return max(found, key=_CARE.index)


def _only_reads(last: list[str], name: list[str]) -> bool:
    """`POST /orders/search`, `POST /orders:batchGet`, `searchOrders`; a word for a deed anywhere says otherwise."""
    deeds = UPDATING | DELETING | WRITING
    if {*name, *last} & deeds:
        return False
    if len(last) == 1:
        return last[0] in READING_SEGMENTS or (bool(name) and name[0] in READING and last[0] not in EXTERNAL | MONEY)
    if last[:1] and (last[0] in READING or (last[0] in {"bulk", "batch"} and last[-1] in {"get", "list", "read"})):
        return True
    return bool(name) and name[0] in READING and not set(last) & (EXTERNAL | MONEY)
