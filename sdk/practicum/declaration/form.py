"""What a declaration may say, and the registrations that it stands for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pydantic import BaseModel, Field, JsonValue

from practicum.contracts.access import Budget, PrincipalName, Rule, RuleSet
from practicum.contracts.base import JsonObject, Name, Value
from practicum.contracts.connectors import ConnectorLimits, ConnectorSpec, PracticeSpec
from practicum.contracts.issuers import Issuer
from practicum.contracts.models import ExampleSet, ModelSpec, Sampling
from practicum.contracts.routing import Fallbacks
from practicum.contracts.webhooks import WebhookRequest
from practicum.declaration.faults import Faults, Path, Source
from practicum.declaration.references import CREDENTIALS, followed, is_place
from practicum.errors import ConfigurationError

VERSION = 1
"""Of the form of declarations, the value of `practicum`."""
_ADDRESS = ("http://", "https://")
V = TypeVar("V", bound=BaseModel)
T = TypeVar("T")


class Reader(Protocol):
    """Reads what a declaration names; its paths begin at the declaration's folder."""

    def document(self, path: str) -> tuple[JsonObject, dict[str, JsonObject]]:
        """An OpenAPI document, and the files that it refers to."""
        ...

    def source(self, path: str) -> Source:
        """A file of JSON or YAML."""
        ...

    def secret(self, place: str) -> str:
        """What stands at `env:VARIABLE` or `file:PATH`."""
        ...


class _WebhookForm(Value):
    url: str = Field(repr=False)
    private_network: bool = False
    secrets: str | None = None


class _TenantForm(Value):
    admin: PrincipalName = "admin"
    key: str | None = None
    connectors: dict[Name, JsonObject] | None = None
    rules: str | list[JsonValue] | None = None
    budgets: list[JsonValue] | None = None
    issuers: dict[Name, JsonObject] | None = None
    models: dict[Name, JsonObject] | None = None
    webhooks: dict[Name, _WebhookForm] | None = None


class _Form(Value):
    practicum: int
    tenants: dict[Name, _TenantForm]


_FORMS = (
    _Form,
    _TenantForm,
    _WebhookForm,
    ConnectorSpec,
    ConnectorLimits,
    PracticeSpec,
    *CREDENTIALS,
    Rule,
    Budget,
    Issuer,
    ModelSpec,
    Fallbacks,
    Sampling,
    ExampleSet,
)


@dataclass(frozen=True, slots=True)
class WantedWebhook:
    """A webhook as it shall be.

    Attributes:
        request: what is asked for.
        secrets: the file that its secrets are written to when it is new, if one is named.
    """

    request: WebhookRequest
    secrets: str | None = None


@dataclass(frozen=True, slots=True)
class WantedTenant:
    """A tenant as it shall be. What is None is not spoken of, and left alone.

    Attributes:
        name: its name.
        admin: name of its first administrator, where it has to be made.
        key: where an administrator's key to it stands.
        connectors: its systems.
        rules: its rules, in order.
        budgets: what may be spent.
        issuers: whose tokens are taken.
        models: its models.
        fallbacks: by alias, who answers where its model cannot; an alias that is not there is not spoken of.
        webhooks: who is told of its approvals.
    """

    name: str
    admin: str
    key: str | None = None
    connectors: tuple[ConnectorSpec, ...] | None = None
    rules: tuple[Rule, ...] | None = None
    budgets: tuple[Budget, ...] | None = None
    issuers: tuple[Issuer, ...] | None = None
    models: tuple[ModelSpec, ...] | None = None
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    webhooks: tuple[WantedWebhook, ...] | None = None


def wanted_of(source: Source, reader: Reader) -> tuple[WantedTenant, ...]:
    """The tenants that a declaration speaks of, with everything that it names read.

    Args:
        source: the declaration.
        reader: reads what it names.

    Raises:
        ConfigurationError: something in it cannot be used; every fault is told, with its line.
    """
    faults = Faults(name for form in _FORMS for name in form.model_fields)
    form = faults.made(_Form, source.value, source, ())
    faults.raise_if_any(source.name)
    if form is None or form.practicum != VERSION:
        faults.add(source, ("practicum",), f"this version of practicum reads declarations of the form {VERSION}.")
        form = _Form(practicum=VERSION, tenants={})
    found = tuple(_Reading(source, reader, faults, name).tenant(said) for name, said in form.tenants.items())
    faults.raise_if_any(source.name)
    return found


class _Reading:
    """One tenant's part of a declaration, on the way to what it stands for."""

    def __init__(self, source: Source, reader: Reader, faults: Faults, tenant: str) -> None:
        self._source = source
        self._reader = reader
        self._faults = faults
        self._name = tenant
        self._at: Path = ("tenants", tenant)

    def tenant(self, said: _TenantForm) -> WantedTenant:
        """What it stands for, as far as it has no faults."""
        if said.key is not None and not is_place(said.key):
            self._faults.add(self._source, (*self._at, "key"), "a key is named by its place, `env:VARIABLE`.")
        rules, budgets = self._rules(said)
        return WantedTenant(
            name=self._name,
            admin=said.admin,
            key=said.key,
            connectors=_all(said.connectors, self._connectors(said.connectors or {})),
            rules=rules,
            budgets=budgets,
            issuers=_all(said.issuers, self._named(Issuer, "issuers", "name", said.issuers or {})),
            models=_all(said.models, self._models(said.models or {})),
            fallbacks=dict(self._fallbacks(said.models or {})),
            webhooks=_all(said.webhooks, self._webhooks(said.webhooks or {})),
        )

    def _connectors(self, said: dict[str, JsonObject]) -> Iterator[ConnectorSpec | None]:
        for name, given in said.items():
            at = (*self._at, "connectors", name)
            for key in given.keys() & {"name", "source", "documents"}:
                self._faults.unknown(self._source, (*at, key))
            fields: JsonObject = {key: value for key, value in given.items() if key != "document"} | {"name": name}
            if "mcp" not in given or "document" in given:
                fields |= self._document(given.get("document"), at)
            if isinstance(overlay := given.get("overlay"), str):
                fields["overlay"] = self._file(overlay, (*at, "overlay"))
            fields["auth"] = self._followed(given.get("auth", {"kind": "none"}), (*at, "auth"))
            if isinstance(practice := given.get("practice"), dict) and "auth" in practice:
                fields["practice"] = practice | {"auth": self._followed(practice["auth"], (*at, "practice", "auth"))}
            yield self._faults.made(ConnectorSpec, fields, self._source, at)

    def _document(self, said: JsonValue, at: Path) -> JsonObject:
        """The document as the registration carries it: an address that the gateway fetches, or what a file holds."""
        if not isinstance(said, str) or not said:
            what = "it has no `document`, a file or the http address from which the gateway fetches it, and no `mcp`."
            self._faults.add(self._source, at if said is None else (*at, "document"), what)
            return {}
        if said.startswith(_ADDRESS):
            return {"source": said}
        try:
            document, files = self._reader.document(said)
        except ConfigurationError as error:
            self._faults.add(self._source, (*at, "document"), f"{error.detail} {error.mend or ''}".strip())
            return {}
        return {"document": document, "documents": dict(files)}

    def _models(self, said: dict[str, JsonObject]) -> Iterator[ModelSpec | None]:
        opened: dict[str, JsonObject] = {}
        for name, given in said.items():
            at = (*self._at, "models", name)
            key = {"api_key": self._followed(given["api_key"], (*at, "api_key"))} if "api_key" in given else {}
            opened[name] = {"provider": "litellm"} | {each: given[each] for each in given if each != "fallbacks"} | key
        yield from self._named(ModelSpec, "models", "alias", opened)

    def _fallbacks(self, said: dict[str, JsonObject]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for name, given in said.items():
            if "fallbacks" in given:
                fields: JsonObject = {"fallbacks": given["fallbacks"]}
                made = self._faults.made(Fallbacks, fields, self._source, (*self._at, "models", name))
                yield name, () if made is None else made.fallbacks

    def _webhooks(self, said: dict[str, _WebhookForm]) -> Iterator[WantedWebhook | None]:
        for name, given in said.items():
            at = (*self._at, "webhooks", name)
            fields = {
                "name": name,
                "url": self._followed(given.url, (*at, "url")),
                "private_network": given.private_network,
            }
            if given.secrets is not None and not given.secrets.startswith("file:"):
                self._faults.add(self._source, (*at, "secrets"), "where new secrets are written to is `file:PATH`.")
            request = self._faults.made(WebhookRequest, fields, self._source, at)
            yield None if request is None else WantedWebhook(request, given.secrets)

    def _named(self, form: type[V], section: str, key: str, said: dict[str, JsonObject]) -> Iterator[V | None]:
        """Values that stand under their names."""
        for name, given in said.items():
            at = (*self._at, section, name)
            if key in given:
                self._faults.unknown(self._source, (*at, key))
            yield self._faults.made(form, given | {key: name}, self._source, at)

    def _rules(self, said: _TenantForm) -> tuple[tuple[Rule, ...] | None, tuple[Budget, ...] | None]:
        """Rules and budgets, from the declaration or from the file that it names."""
        own: dict[str, JsonValue] = {}
        if isinstance(said.rules, list):
            own["rules"] = said.rules
        if said.budgets is not None:
            own["budgets"] = said.budgets
        rules, budgets = self._ruled(self._source, self._at, own)
        if not isinstance(said.rules, str) or (named := self._read(said.rules, (*self._at, "rules"))) is None:
            return rules, budgets
        if isinstance(alone := named.value, list):
            line_of = named.line_of
            named = Source(named.name, {"rules": alone}, lambda path: line_of(path[1:]))
        rules, there = self._ruled(named, (), named.value)
        if there is not None and budgets is not None:
            self._faults.add(self._source, (*self._at, "budgets"), f"{named.name} holds budgets too: keep one of both.")
        return rules, budgets if there is None else there

    def _ruled(
        self, source: Source, at: Path, fields: JsonValue
    ) -> tuple[tuple[Rule, ...] | None, tuple[Budget, ...] | None]:
        made = self._faults.made(RuleSet, fields, source, at)
        if made is None or not isinstance(fields, dict):
            return None, None
        for section, ids in (("rules", [r.id for r in made.rules]), ("budgets", [b.id for b in made.budgets])):
            for twin in sorted({each for each in ids if ids.count(each) > 1}):
                self._faults.add(source, (*at, section), f"the id `{twin}` is given twice.")
        return made.rules if "rules" in fields else None, made.budgets if "budgets" in fields else None

    def _followed(self, value: JsonValue, at: Path) -> JsonValue:
        return followed(value, self._source, at, self._reader.secret, self._faults)

    def _file(self, path: str, at: Path) -> JsonValue:
        found = self._read(path, at)
        return None if found is None else found.value

    def _read(self, path: str, at: Path) -> Source | None:
        try:
            return self._reader.source(path)
        except ConfigurationError as error:
            self._faults.add(self._source, at, f"{error.detail} {error.mend or ''}".strip())
            return None


def _all(said: object, found: Iterable[T | None]) -> tuple[T, ...] | None:
    """What was found, where the section was there at all."""
    made = tuple(each for each in found if each is not None)
    return None if said is None else made
