"""The declaration of a tenant as it is: what it would have to say, so that an apply changes nothing. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, JsonValue

from practicum.contracts.access import RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.declared import Declared
from practicum.contracts.issuers import Issuer
from practicum.contracts.webhooks import Webhook
from practicum.declaration.form import VERSION
from practicum.declaration.references import SECRET
from practicum.declaration.rules import HOLD


@dataclass(slots=True)
class Exported:
    """A declaration, and what stands beside it.

    Attributes:
        declaration: what the file says.
        documents: by the path that it names them by, the documents of systems.
        places: environment variables that it names, each with what has to stand there.
    """

    declaration: JsonObject = field(default_factory=dict[str, JsonValue])
    documents: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    places: dict[str, str] = field(default_factory=dict[str, str])


def exported(
    tenant: str,
    *,
    connectors: Iterable[Declared],
    rules: RuleSet,
    issuers: Iterable[Issuer],
    models: Iterable[Declared],
    webhooks: Iterable[Webhook],
) -> Exported:
    """What a declaration of a tenant would have to say.

    A credential that the gateway keeps is known to nobody else: the variable is named in which it has to stand.

    Args:
        tenant: its name.
        connectors: its systems.
        rules: its rules and budgets; a hold that an apply left is not among them.
        issuers: whose tokens it takes.
        models: what its aliases name.
        webhooks: who is told of its approvals; of an address, which may be a secret, the origin alone is known.
    """
    found = Exported()
    said: JsonObject = {
        "connectors": {each.name: _connector(each, found) for each in connectors},
        "rules": [_dumped(rule) for rule in rules.rules if rule.id != HOLD],
        "budgets": [_dumped(budget) for budget in rules.budgets],
        "issuers": {each.name: _dumped(each, "name") for each in issuers},
        "models": {each.name: _placed(each.said, (each.name,), found) for each in models},
        "webhooks": {each.name: _webhook(each, found) for each in webhooks},
    }
    found.declaration |= {"practicum": VERSION, "tenants": {tenant: said}}
    return found


def _connector(each: Declared, found: Exported) -> JsonObject:
    said = _placed(each.said, (each.name,), found)
    if each.document is None:
        return said
    path = f"documents/{each.name}.json"
    found.documents[path] = each.document
    return {"document": path, **said}


def _webhook(each: Webhook, found: Exported) -> JsonObject:
    place = _place((each.name, "url"), found, f"the address of the webhook '{each.name}' at {each.origin}")
    return {"url": place, **({"private_network": True} if each.private_network else {})}


def _placed(said: JsonObject, path: tuple[str, ...], found: Exported) -> JsonObject:
    """What is said, with a variable in the place of each credential that is not given out."""
    return dict(_members(said, path, found))


def _members(said: JsonObject, path: tuple[str, ...], found: Exported) -> Iterator[tuple[str, JsonValue]]:
    for name, value in said.items():
        if isinstance(value, dict):
            yield name, _placed(value, (*path, name), found)
        elif name in SECRET and value is None:
            yield name, _place((*path, name), found, f"{' '.join((*path[1:], name))} of '{path[0]}'")
        else:
            yield name, value


def _place(path: tuple[str, ...], found: Exported, what: str) -> str:
    parts = (part for part in path if part not in {"auth", "schemes"})
    variable = "_".join("".join(c if c.isalnum() else "_" for c in part) for part in parts).upper()
    found.places[variable] = what
    return f"env:{variable}"


def _dumped(value: BaseModel, *left_out: str) -> JsonObject:
    said: dict[str, Any] = value.model_dump(mode="json", exclude=set(left_out), exclude_defaults=True)
    return said
