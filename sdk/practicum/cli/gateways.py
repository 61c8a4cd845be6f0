"""The tenants of a gateway, each spoken to with a key of its own, and how they are now."""

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Self

from practicum.cli.connection import connect_to
from practicum.cli.declared import Folder
from practicum.cli.keeping import free_path, kept
from practicum.cli.output import remark
from practicum.client import Practicum
from practicum.contracts.access import RuleSet
from practicum.contracts.comparison import ConnectorComparison, ModelComparison
from practicum.contracts.promotion import Change
from practicum.contracts.tenants import MAIN
from practicum.declaration import Present, WantedTenant, WantedWebhook, change_of, holding_back
from practicum.errors import AccessError, ConfigurationError, PracticumError

_DECIDED = (Change.PROMOTED, Change.SPLIT, Change.ROLLED_BACK)
_MANY = 20
"""Connectors whose comparison takes seconds, so that something has to be said meanwhile."""


class Gateways:
    """Clients to the tenants that a declaration speaks of.

    The main tenant is asked with the key of the environment, every other one with the key that its declaration names.
    A tenant that is not there yet is made, and worked on with the key of its first administrator: it is written to the
    file that the declaration names for it, or else withdrawn at the end.
    """

    def __init__(self, folder: Folder) -> None:
        """Begin with no client.

        Args:
            folder: that of the declaration.
        """
        self._folder = folder
        self._stack = ExitStack()
        self._clients: dict[str, Practicum] = {}
        self._there: frozenset[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def of(self, tenant: str) -> Practicum:
        """The client to a tenant that is there."""
        return self._clients[tenant]

    def present(self, wanted: WantedTenant) -> Present:
        """How a tenant is.

        Raises:
            ConfigurationError: there is no key to it.
            PracticumError: the gateway did not answer, or something declared could not be registered.
        """
        if not self._enter(wanted):
            return _missing(wanted)
        client, rules = self.of(wanted.name), self._rules(wanted.name)
        if (wish := change_of(rules, wanted.rules, wanted.budgets).wanted) != rules:
            with _about(wanted.name, "the rules"):
                client.rules.check(wish)
        models: dict[str, ModelComparison] = {}
        for model in wanted.models or ():
            with _about(wanted.name, f"the model '{model.alias}'"):
                models[model.alias] = client.models.compare(model)
        connectors: dict[str, ConnectorComparison] = {}
        if (many := len(wanted.connectors or ())) >= _MANY:
            remark(f"comparing {many} connectors of the tenant {wanted.name}")
        for connector in wanted.connectors or ():
            with _about(wanted.name, f"the connector '{connector.name}'"):
                connectors[connector.name] = client.connectors.compare(connector)
        moved = [alias for alias, found in models.items() if found.known and found.version != found.names]
        return Present(
            rules=rules,
            connectors=connectors,
            connector_names=frozenset(each.name for each in client.connectors.list())
            if wanted.connectors is not None
            else frozenset(),
            issuers={each.name: each for each in client.issuers.list()} if wanted.issuers is not None else {},
            models=models,
            fallbacks={alias: client.models.get(alias).fallbacks for alias in wanted.fallbacks if models[alias].known},
            model_names=frozenset(client.models.list()) if wanted.models is not None else frozenset(),
            webhooks={each.name: each for each in client.webhooks.list()} if wanted.webhooks is not None else {},
            idle=frozenset(
                pattern
                for pattern in dict.fromkeys(each for _, each in holding_back(wanted.rules, wanted.budgets))
                if not any(fnmatchcase(tool.address, pattern) for tool in client.tools.list(pattern, limit=1))
            ),
            promoted=frozenset(alias for alias in moved if client.models.promotions(alias)[0].change in _DECIDED),
        )

    def others(self) -> frozenset[str]:
        """Tenants beside the main one, where the key may list them."""
        if self._there is None:
            try:
                self._there = frozenset(each.name for each in self._main().tenants.list()) - {MAIN}
            except (AccessError, ConfigurationError):
                self._there = frozenset()
        return self._there

    def create(self, wanted: WantedTenant) -> None:
        """Make a tenant.

        Raises:
            ConflictError: somebody else made it meanwhile.
            ConfigurationError: its key cannot be written to the file that is named for it.
        """
        path = None
        if wanted.key is not None and wanted.key.startswith("file:"):
            path = free_path(self._folder.place(wanted.key), f"The key of the new tenant '{wanted.name}'")
        first = self._main().tenants.create(wanted.name, admin=wanted.admin).key
        client = self._connect(wanted.name, first.key)
        if path is None or not kept(path, first.key):
            self._stack.callback(_withdraw, client, first.info.id, wanted.name)

    def add_webhook(self, tenant: str, webhook: WantedWebhook, *, anew: bool) -> None:
        """Have somebody told of approvals; the secrets go to the file that is named for them.

        Args:
            tenant: in which tenant.
            webhook: who.
            anew: whether one of the same name is removed first.

        Raises:
            ConfigurationError: they cannot be written there.
            RequestError: its address does not fit.
        """
        client, request, path = self.of(tenant), webhook.request, None
        if webhook.secrets is not None:
            path = free_path(self._folder.place(webhook.secrets), f"The secrets of the webhook '{request.name}'")
        if anew:
            client.webhooks.remove(request.name)
        made = client.webhooks.add(request.name, request.url, private_network=request.private_network)
        text = json.dumps({"secret": made.secret, "answer_secret": made.answer_secret})
        if path is None or not kept(path, text):
            remark(f"`practicum webhooks rotate {request.name} --grace 0` prints secrets of the webhook")

    def _rules(self, tenant: str) -> RuleSet:
        """The rules in force, which is the first that a key is shown for: what is wrong with it is told as its own."""
        try:
            return self.of(tenant).rules.get()
        except AccessError as error:
            error.detail = f"Of the tenant '{tenant}', the key: {error.detail}"
            raise

    def _main(self) -> Practicum:
        return self._clients.get(MAIN) or self._connect(MAIN, None)

    def _enter(self, wanted: WantedTenant) -> bool:
        """Have a client to a tenant; false where the tenant is still to be made."""
        key, missing = None, None
        if wanted.key is not None:
            try:
                key = self._folder.secret(wanted.key)
            except ConfigurationError as error:
                missing = error
        if wanted.name != MAIN and key is None:
            if wanted.name not in self.others():
                return False
            raise ConfigurationError(
                f"There is no key to the tenant '{wanted.name}'."
                if missing is None
                else f"There is no key to the tenant '{wanted.name}': {missing.detail}",
                mend=f"Have one made with `practicum tenants key {wanted.name}`, and name its place: "
                f"`key: env:{wanted.name.upper()}_KEY`.",
            )
        if missing is not None:
            raise missing
        if wanted.name not in self._clients:
            self._connect(wanted.name, key)
        return True

    def _connect(self, tenant: str, key: str | None) -> Practicum:
        self._clients[tenant] = self._stack.enter_context(connect_to(tenant, key))
        return self._clients[tenant]


@contextmanager
def _about(tenant: str, what: str) -> Generator[None]:
    """Says of an error what it is about: a declaration speaks of many things at once."""
    try:
        yield
    except PracticumError as error:
        error.detail = f"Of the tenant '{tenant}', {what}: {error.detail}"
        raise


def _missing(wanted: WantedTenant) -> Present:
    """A tenant that is not there: all of it is new."""
    return Present(
        exists=False,
        connectors={spec.name: ConnectorComparison(known=False, digest="") for spec in wanted.connectors or ()},
        models={spec.alias: ModelComparison(known=False) for spec in wanted.models or ()},
    )


def _withdraw(client: Practicum, key: str, tenant: str) -> None:
    """Withdraw the first key of a tenant, which nobody was given."""
    try:
        client.keys.revoke(key)
    except PracticumError as error:
        remark(f"the first key of the tenant {tenant}, {key}, could not be withdrawn: {error.detail}")
    else:
        remark(f"`practicum tenants key {tenant}` issues a key to the new tenant")
