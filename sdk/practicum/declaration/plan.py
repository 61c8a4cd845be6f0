"""What a tenant differs in from its declaration, in an order in which nothing is looser meanwhile than at either end.

People who come by an issuer that goes are shut out first. Connectors change while their calls are denied, if the rules
change too; then models, the new rules, then issuers and webhooks that come; what is not declared is removed last.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from practicum.contracts.access import RuleSet
from practicum.contracts.comparison import ConnectorComparison, Difference, ModelComparison, differences
from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.issuers import Issuer
from practicum.contracts.models import ModelSpec, parted
from practicum.contracts.webhooks import Webhook
from practicum.declaration.form import WantedTenant, WantedWebhook
from practicum.declaration.rules import HOLD, RuleChange, change_of, denied_by, holding_back
from practicum.declaration.said import connector_said, issuer_said, model_said, webhook_said
from practicum.declaration.steps import Do, Left, Plan, Step, What

_HARMLESS = ("auth", "limits.")
"""How fields of a connector begin that change nothing about what its calls do."""
_NOT_DECLARED = "not in the file; --prune removes it"
_BREAKS = "its document breaks calls that were right: --accept-breaking puts that in force"


@dataclass(frozen=True, slots=True)
class Present:
    """A tenant as it is.

    Attributes:
        exists: whether it is there.
        rules: in force.
        connectors: how each declared connector compares.
        connector_names: of all that are registered.
        issuers: all, by name.
        models: how each declared model compares.
        model_names: all aliases.
        fallbacks: of each alias that the declaration speaks of, who answers where its model cannot.
        promoted: aliases that name what somebody promoted or rolled back to.
        webhooks: all, by name.
        idle: tool patterns of the declared rules and budgets that no tool there fits.
    """

    exists: bool = True
    rules: RuleSet = RuleSet()  # noqa: RUF009  # frozen
    connectors: dict[str, ConnectorComparison] = field(default_factory=dict[str, ConnectorComparison])
    connector_names: frozenset[str] = frozenset()
    issuers: dict[str, Issuer] = field(default_factory=dict[str, Issuer])
    models: dict[str, ModelComparison] = field(default_factory=dict[str, ModelComparison])
    model_names: frozenset[str] = frozenset()
    fallbacks: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    promoted: frozenset[str] = frozenset()
    webhooks: dict[str, Webhook] = field(default_factory=dict[str, Webhook])
    idle: frozenset[str] = frozenset()


def planned(wanted: WantedTenant, present: Present, *, prune: bool = False, accept: bool = False) -> Plan:
    """What has to be done to a tenant.

    Args:
        wanted: as it shall be.
        present: as it is.
        prune: whether what is not declared is removed.
        accept: whether breaking changes of documents are put in force.
    """
    return _Planning(wanted, present, accept=accept).plan(prune=prune)


def rule_change(wanted: WantedTenant, present: Present) -> RuleChange:
    """How a tenant's rules change."""
    return change_of(present.rules, wanted.rules, wanted.budgets)


def held_by(steps: Iterable[Step]) -> tuple[str, ...]:
    """Connectors whose calls are denied until the new rules come: what changes about them may need these rules."""
    return tuple(step.name for step in steps if step.what is What.CONNECTOR and not step.waits and _matters(step))


def _matters(step: Step) -> bool:
    if step.do is not Do.REPLACE:
        return step.do is not Do.REMOVE
    return bool(step.served or step.held) or any(not each.where.startswith(_HARMLESS) for each in step.fields)


class _Planning:
    """One tenant, on the way to its plan."""

    def __init__(self, wanted: WantedTenant, present: Present, *, accept: bool) -> None:
        self._wanted = wanted
        self._present = present
        self._accept = accept

    def plan(self, *, prune: bool) -> Plan:
        """All steps in order, and what is left."""
        wanted, present = self._wanted, self._present
        tenant = () if present.exists else (self._step(What.TENANT, wanted.name, Do.CREATE),)
        connectors = [found for spec in wanted.connectors or () if (found := self._connector(spec))]
        models = [found for spec in _embedders_first(wanted.models or ()) if (found := self._model(spec))]
        fallbacks = [*self._fallbacks()]
        issuers = [found for issuer in wanted.issuers or () if (found := self._issuer(issuer))]
        webhooks = [found for webhook in wanted.webhooks or () if (found := self._webhook(webhook))]
        rules = [*self._rules()]
        held = held_by(connectors)
        denied = Difference(where="denied", after=[*rule_change(wanted, present).held(held).rules[0].tools])
        hold = (
            [self._step(What.RULES, HOLD, Do.HOLD).model_copy(update={"fields": (denied,)})] if rules and held else []
        )
        extra = [*self._extra()]
        gone = [self._step(left.what, left.name, Do.REMOVE) for left in extra] if prune else []
        shut_out = [step for step in gone if step.what is What.ISSUER]
        gone = [step for step in gone if step.what is not What.ISSUER]
        left = () if prune else extra
        return Plan(
            steps=(*tenant, *shut_out, *hold, *connectors, *models, *fallbacks, *rules, *issuers, *webhooks, *gone),
            left=(*left, *self._promoted(), *self._stray(step.name for step in connectors)),
        )

    def _step(self, what: What, name: str, do: Do) -> Step:
        return Step(tenant=self._wanted.name, what=what, name=name, do=do)

    def _connector(self, spec: ConnectorSpec) -> Step | None:
        found = self._present.connectors[spec.name]
        step = self._step(What.CONNECTOR, spec.name, Do.CHANGE)
        told = {
            "fields": found.fields,
            "served": found.served,
            "held": found.held,
            "digest": found.digest,
            "tools": found.tools,
        }
        breaks = None if self._accept or not found.held else _BREAKS
        if not found.known:
            return step.model_copy(update={"do": Do.CREATE, **told, "fields": connector_said(spec)})
        if found.fields:
            return step.model_copy(update={"do": Do.REPLACE, "refused": breaks, **told})
        if found.changed:
            return step.model_copy(update=told)
        return step.model_copy(update={"do": Do.ACCEPT, "waits": breaks, **told}) if found.held else None

    def _model(self, spec: ModelSpec) -> Step | None:
        found = self._present.models[spec.alias]
        step = self._step(What.MODEL, spec.alias, Do.CREATE)
        if not found.known:
            return step.model_copy(update={"fields": model_said(spec)})
        named = found.version is not None and found.version == found.names
        if named and not found.fields:
            return None
        if not named and spec.alias in self._present.promoted:
            if found.version is not None and not found.fields:
                return None
            return step.model_copy(update={"do": Do.ADD_VERSION, "fields": found.fields})
        moved = () if named or found.version is None else differences(found.names, found.version, "names")
        return step.model_copy(update={"do": Do.CHANGE, "fields": (*found.fields, *moved)})

    def _fallbacks(self) -> Iterator[Step]:
        for alias, wanted in self._wanted.fallbacks.items():
            before = [*self._present.fallbacks.get(alias, ())]
            if before != [*wanted]:
                told = Difference(where="fallbacks", before=[*before], after=[*wanted])
                yield self._step(What.FALLBACKS, alias, Do.CHANGE).model_copy(update={"fields": (told,)})

    def _issuer(self, issuer: Issuer) -> Step | None:
        known = self._present.issuers.get(issuer.name)
        if known is None:
            new = self._step(What.ISSUER, issuer.name, Do.CREATE)
            return new.model_copy(update={"fields": issuer_said(issuer)})
        found = differences(known.model_dump(mode="json"), issuer.model_dump(mode="json"))
        step = self._step(What.ISSUER, issuer.name, Do.CHANGE)
        return step.model_copy(update={"fields": found}) if found else None

    def _webhook(self, webhook: WantedWebhook) -> Step | None:
        name = webhook.request.name
        known = self._present.webhooks.get(name)
        found = webhook_said(webhook.request, known)
        do = Do.CREATE if known is None else Do.REPLACE
        return self._step(What.WEBHOOK, name, do).model_copy(update={"fields": found}) if found else None

    def _rules(self) -> Iterator[Step]:
        if self._wanted.rules is None and self._wanted.budgets is None:
            return
        found = rule_change(self._wanted, self._present).differences
        if found:
            yield self._step(What.RULES, "", Do.CHANGE).model_copy(update={"fields": found})

    def _extra(self) -> Iterator[Left]:
        wanted, present = self._wanted, self._present
        sections = (
            (What.CONNECTOR, wanted.connectors, present.connector_names, [s.name for s in wanted.connectors or ()]),
            (What.MODEL, wanted.models, present.model_names, [s.alias for s in wanted.models or ()]),
            (What.ISSUER, wanted.issuers, frozenset(present.issuers), [s.name for s in wanted.issuers or ()]),
            (
                What.WEBHOOK,
                wanted.webhooks,
                frozenset(present.webhooks),
                [each.request.name for each in wanted.webhooks or ()],
            ),
        )
        for what, spoken, there, declared in sections:
            for name in sorted(there.difference(declared)) if spoken is not None else ():
                yield Left(tenant=wanted.name, what=what, name=name, why=_NOT_DECLARED)

    def _promoted(self) -> Iterator[Left]:
        for spec in self._wanted.models or ():
            found = self._present.models[spec.alias]
            if found.known and spec.alias in self._present.promoted and found.version != found.names:
                why = f"it names {found.names}, by a decision that was made with `practicum models`"
                yield Left(tenant=self._wanted.name, what=What.MODEL, name=spec.alias, why=why)

    def _stray(self, changing: Iterable[str]) -> Iterator[Left]:
        """Rules and budgets that hold nothing back, and a hold that nothing will end.

        Which tools a connector that changes will have is not known yet.
        """
        names = tuple(changing)
        if self._wanted.rules is None and (denied := denied_by(self._present.rules)):
            why = f"an apply that did not end left it: it denies {', '.join(denied)}; declare `rules` to end it"
            yield Left(tenant=self._wanted.name, what=What.RULES, name=HOLD, why=why)
        for name, pattern in holding_back(self._wanted.rules, self._wanted.budgets):
            system = pattern.partition(".")[0]
            if pattern in self._present.idle and not any(fnmatchcase(each, system) for each in names):
                why = f"it holds nothing back: no tool fits `{pattern}`"
                yield Left(tenant=self._wanted.name, what=What.RULES, name=name, why=why)


def _embedders_first(models: Iterable[ModelSpec]) -> list[ModelSpec]:
    """Models in an order in which one comes after the one that finds its examples."""
    given = tuple(models)
    needed = {parted(spec.examples.embedder)[0] for spec in given if spec.examples and spec.examples.embedder}
    return sorted(given, key=lambda spec: spec.alias not in needed)
