"""Does the steps of a plan, one after the other, and says of each how it ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from practicum.cli.gateways import Gateways
from practicum.client import Practicum
from practicum.contracts.base import Value
from practicum.contracts.connectors import ConnectorSpec, RefreshReport
from practicum.declaration import Do, Plan, RuleChange, Step, WantedTenant, What, denied_by, held_by
from practicum.errors import ConflictError, PracticumError

T = TypeVar("T")

_CHANGED_MEANWHILE = "Run it again, to see how it is now."


class State(StrEnum):
    """How a step ended."""

    DONE = "done"
    WAITS = "waits"
    """A decision is needed: what does not break calls was done."""
    FAILED = "failed"
    NOT_DONE = "not_done"


class Ended(Value):
    """A step and how it ended."""

    step: Step
    state: State


@dataclass(frozen=True, slots=True)
class Course:
    """How the steps of a plan went.

    Attributes:
        ended: each step and how it ended.
        error: of the step that failed.
        denied: connectors whose calls go on being denied until a repeat comes to its end.
    """

    ended: tuple[Ended, ...]
    error: PracticumError | None = None
    denied: tuple[str, ...] = ()


class Applying:
    """A plan on its way."""

    def __init__(
        self, gateways: Gateways, wanted: Mapping[str, WantedTenant], rules: Mapping[str, RuleChange], *, accept: bool
    ) -> None:
        """Prepare to do steps.

        Args:
            gateways: clients to the tenants.
            wanted: the tenants as they shall be.
            rules: how the rules of each change.
            accept: whether breaking changes of documents are put in force.
        """
        self._gateways = gateways
        self._wanted = wanted
        self._rules = dict(rules)
        self._in_force = {name: change.present.digest for name, change in rules.items()}
        self._accept = accept

    def do(self, plan: Plan, tell: Callable[[Ended], None], stop: Callable[[], bool]) -> Course:
        """Do the steps in their order, up to the first that fails, or until somebody wants it to end.

        Args:
            plan: the steps.
            tell: is told of each as it ends.
            stop: is asked before each whether to end here.
        """
        ended: list[Ended] = []
        for step in plan.steps:
            if stop():
                return self._broken_off(plan, ended, None)
            try:
                ended.append(Ended(step=step, state=self._do(step, plan)))
            except PracticumError as error:
                ended.append(Ended(step=step, state=State.FAILED))
                tell(ended[-1])
                return self._broken_off(plan, ended, error)
            tell(ended[-1])
        return Course(tuple(ended))

    def _broken_off(self, plan: Plan, ended: Sequence[Ended], error: PracticumError | None) -> Course:
        rest = (Ended(step=each, state=State.NOT_DONE) for each in plan.steps[len(ended) :])
        denied = self._ease(ended[-1].step.tenant, plan, ended) if ended else ()
        return Course((*ended, *rest), error, denied)

    def _do(self, step: Step, plan: Plan) -> State:
        if step.what is What.TENANT:
            self._gateways.create(self._wanted[step.tenant])
            return State.DONE
        if step.waits is not None:
            return State.WAITS
        client = self._gateways.of(step.tenant)
        if step.what is What.CONNECTOR:
            return self._connector(client, step)
        if step.what is What.RULES:
            self._put_rules(client, step, plan)
        elif step.what is What.MODEL:
            self._model(client, step)
        elif step.what is What.FALLBACKS:
            client.models.fallbacks(step.name, self._wanted[step.tenant].fallbacks[step.name])
        elif step.what is What.WEBHOOK:
            self._webhook(client, step)
        elif step.do is Do.REMOVE:
            client.issuers.remove(step.name)
        else:
            client.issuers.put(_named(self._wanted[step.tenant].issuers, lambda each: each.name, step.name))
        return State.DONE

    def _ease(self, tenant: str, plan: Plan, ended: Sequence[Ended]) -> tuple[str, ...]:
        """Let the calls of connectors go on that the steps have not come to; those they touched stay denied."""
        mine = [each for each in ended if each.step.tenant == tenant]
        rules = [each for each in mine if each.step.what is What.RULES and each.state is State.DONE]
        if not rules or rules[-1].step.do is not Do.HOLD:
            return ()
        change, touched = self._rules[tenant], held_by(each.step for each in mine)
        eased = change.held(touched) if touched else change.present
        try:
            self._gateways.of(tenant).rules.set(eased, instead_of=self._in_force[tenant])
        except PracticumError:  # the gateway may be gone; the whole hold stays, which is safe
            return denied_by(change.held(held_by(each for each in plan.steps if each.tenant == tenant)))
        return denied_by(eased)

    def _put_rules(self, client: Practicum, step: Step, plan: Plan) -> None:
        change = self._rules[step.tenant]
        mine = [each for each in plan.steps if each.tenant == step.tenant]
        rules = change.held(held_by(mine)) if step.do is Do.HOLD else change.wanted
        # The set that this plan was made for, and no other, is replaced: somebody else may have changed it since.
        self._in_force[step.tenant] = client.rules.set(rules, instead_of=self._in_force[step.tenant]).digest

    def _connector(self, client: Practicum, step: Step) -> State:
        if step.do is Do.REMOVE:
            client.connectors.remove(step.name)
            return State.DONE
        spec = _named(self._wanted[step.tenant].connectors, lambda each: each.name, step.name)
        if step.do is Do.CREATE:
            client.connectors.add(spec)
            return State.DONE
        if step.do is Do.REPLACE:
            self._unchanged_since(client, spec, step)
            client.connectors.replace(spec, accept=self._accept)
            return State.DONE
        report = client.connectors.refresh(
            step.name, spec.document, documents=spec.documents, overlay=spec.overlay or {}
        )
        return self._decided(client, step, report)

    def _decided(self, client: Practicum, step: Step, report: RefreshReport) -> State:
        if not report.held:
            return State.DONE
        if not self._accept:
            return State.WAITS
        if report.digest != step.digest:
            raise ConflictError(
                f"The document of '{step.name}' has changed since the plan was made; its breaking changes are held.",
                mend=_CHANGED_MEANWHILE,
            )
        client.connectors.accept(step.name, report.digest)
        return State.DONE

    def _unchanged_since(self, client: Practicum, spec: ConnectorSpec, step: Step) -> None:
        """See once more that what is about to be replaced is what the plan says."""
        found = client.connectors.compare(spec)
        if (found.fields, found.digest, found.held) != (step.fields, step.digest, step.held):
            raise ConflictError(
                f"The connector '{step.name}' or its document has changed since the plan was made.",
                mend=_CHANGED_MEANWHILE,
            )

    def _webhook(self, client: Practicum, step: Step) -> None:
        if step.do is Do.REMOVE:
            client.webhooks.remove(step.name)
            return
        webhook = _named(self._wanted[step.tenant].webhooks, lambda each: each.request.name, step.name)
        self._gateways.add_webhook(step.tenant, webhook, anew=step.do is Do.REPLACE)

    def _model(self, client: Practicum, step: Step) -> None:
        if step.do is Do.REMOVE:
            client.models.remove(step.name)
            return
        spec = _named(self._wanted[step.tenant].models, lambda each: each.alias, step.name)
        if step.do is Do.ADD_VERSION:
            client.models.add_version(spec)
        else:
            client.models.register(spec)


def _named(values: Iterable[T] | None, called: Callable[[T], str], name: str) -> T:
    return next(each for each in values or () if called(each) == name)
