"""The rulebook: which access rules are in force, and every set that ever was."""

from sqlalchemy import func, select

from practicum.contracts.access import Decision, Explanation, RuleSet
from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tools import Tool
from practicum.errors import ConflictError
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.rules import PreparedRules, check, revision_of
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.store.access_tables import RuleSetRow
from practicum_gateway.store.engine import Store


class Rulebook:
    """Keeps the revisions of the rules; the latest is in force.

    The latest is kept in memory too, until another gateway tells that it changed.
    """

    def __init__(self, store: Store) -> None:
        """Keep rules in a store."""
        self._store = store
        self._current: RuleSet | None = None
        self._prepared: tuple[RuleSet, PreparedRules] | None = None
        self._changes = 0

    async def current(self) -> RuleSet:
        """The rules in force, without the defaults that stand behind them."""
        if self._current is not None:
            return self._current
        before = self._changes
        async with self._store.read() as session:
            row = await session.scalar(select(RuleSetRow).order_by(RuleSetRow.revision.desc()).limit(1))
        found = RuleSet() if row is None else RuleSet.model_validate(row.rules)
        if before == self._changes:  # else they may have changed while they were read
            self._current = found
        return found

    def forget(self) -> None:
        """Read the rules anew: they were changed elsewhere."""
        self._current = None
        self._changes += 1

    async def replace(self, rules: RuleSet, principal: Principal, *, instead_of: str | None = None) -> RuleSet:
        """Put a new set in force, for every call decided from now on.

        Args:
            rules: the new set.
            principal: who wants it.
            instead_of: digest of the set that it shall replace; None replaces whatever is in force.

        Raises:
            RequestError: a rule could not be applied as written; the old set stays in force.
            ConflictError: another set is in force by now.
        """
        check(rules)
        async with self._store.write(in_turn=True) as session:
            latest = await session.scalar(select(func.max(RuleSetRow.revision))) or 0
            if instead_of is not None:
                row = await session.get(RuleSetRow, latest)
                present = RuleSet() if row is None else RuleSet.model_validate(row.rules)
                if present.digest != instead_of:
                    raise ConflictError(
                        "Somebody else has changed the access rules meanwhile.", mend="Look at them and try again."
                    )
            session.add(
                RuleSetRow(
                    revision=latest + 1,
                    rules=rules.model_dump(mode="json"),
                    principal=principal.name,
                    created=utc_now(),
                )
            )
            details: JsonObject = {"rules": [f"{rule.id}: {rule.outcome}, {revision_of(rule)}" for rule in rules.rules]}
            subject = f"revision {latest + 1}"
            await append(session, Deed(Action.RULES_REPLACED, subject, details=details, who=principal.who))
        self.forget()  # not kept at once: another gateway may have replaced them since
        return rules

    async def decide(self, tool: Tool, actor: Actor, arguments: JsonObject) -> Decision:
        """What the rules in force say of a call."""
        return (await self._ready()).decide(tool, actor, arguments)

    async def explain(self, tool: Tool, actor: Actor, arguments: JsonObject) -> Explanation:
        """What the rules in force would say of a call, and why."""
        return (await self._ready()).explain(tool, actor, arguments)

    async def _ready(self) -> PreparedRules:
        rules = await self.current()
        if self._prepared is None or self._prepared[0] is not rules:
            self._prepared = (rules, PreparedRules(rules))
        return self._prepared[1]
