"""Access: who may call what, and who was asked."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints

from practicum.contracts.base import JsonObject, Value
from practicum.contracts.tools import Effect


class Role(StrEnum):
    """What a key may do in principle."""

    ADMIN = "admin"
    DEVELOPER = "developer"
    APPROVER = "approver"
    AGENT = "agent"
    WORKER = "worker"
    """The process that drives durable episodes; it calls on an episode's behalf, never on its own."""
    AUDITOR = "auditor"
    """Reads what was done and who may do it; changes nothing and calls no tool."""


class Outcome(StrEnum):
    """What an access rule says of a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class Rule(Value):
    """One access rule; the first that matches decides.

    Attributes:
        id: name shown by `explain` and bound into approvals.
        tools: glob patterns over `connector.operation`; any may match.
        effects: effects it speaks of; empty means all.
        roles: roles it speaks of; empty means all.
        principals: glob patterns over the names of principals it speaks of; empty means all.
        arguments: JSON Schema the arguments must satisfy for the rule to match.
        outcome: allow, deny or ask.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    tools: tuple[str, ...] = ("*",)
    effects: tuple[Effect, ...] = ()
    roles: tuple[Role, ...] = ()
    principals: tuple[str, ...] = ()
    arguments: JsonObject | None = None
    outcome: Outcome


class Share(StrEnum):
    """Who spends from one pot."""

    TENANT = "tenant"
    """Everybody together."""
    PRINCIPAL = "principal"
    """Each principal on its own."""
    EPISODE = "episode"
    """Each episode on its own; calls outside of one are not counted."""


class Budget(Value):
    """What may be spent: calls, tokens or money. All budgets that speak of a call must have room for it.

    Attributes:
        id: its name, shown where it is used up.
        share: who spends from one pot.
        principals: glob patterns over the names of principals it speaks of; empty means all.
        tools: glob patterns over `connector.operation`; not for tokens.
        effects: effects it speaks of; empty means all; not for tokens.
        calls: most tool calls.
        tokens: most prompt and completion tokens together. A turn under way is not cut short: the next one is refused.
        money: the most that the amounts of its calls may add up to.
        amount: where in the arguments a call's amount stands, as a JSON Pointer; for money only.
        seconds: the time that is looked back; None for all time.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    share: Share = Share.PRINCIPAL
    principals: tuple[str, ...] = ()
    tools: tuple[str, ...] = ("*",)
    effects: tuple[Effect, ...] = ()
    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    money: float | None = Field(default=None, gt=0)
    amount: str | None = Field(default=None, pattern=r"^(/[^/]*)+$")
    seconds: float | None = Field(default=None, gt=0)


class RuleSet(Value):
    """The rules in force, in order, and what may be spent at most."""

    rules: tuple[Rule, ...] = ()
    budgets: tuple[Budget, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of what it says, by which somebody who replaces it says what they have seen."""
        said = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


class Decision(Value):
    """What was decided about a call and by which rule.

    Attributes:
        outcome: allow, deny or ask.
        rule: id of the rule.
        reason: why, in words.
        revision: SHA-256 of the rule as it stands: an approval holds for this revision only.
    """

    outcome: Outcome
    rule: str
    reason: str
    revision: str = ""


class ExplainRequest(Value):
    """A call that nobody makes, to learn what would be decided about it.

    Attributes:
        tool: exposed name or `connector.operation`.
        arguments: what would be sent.
        principal: on whose behalf; the asking one when absent.
        role: in which role.
    """

    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    principal: str | None = None
    role: Role = Role.AGENT


class Considered(Value):
    """One rule that was looked at.

    Attributes:
        rule: its id.
        matched: whether it speaks of the call; the first that does decides.
        reason: why it does, or why not.
    """

    rule: str
    matched: bool
    reason: str


class Explanation(Value):
    """What would be decided about a call, and how.

    Attributes:
        tool: exposed name of the tool.
        address: `connector.operation`, which rules match on.
        effect: what the call would do.
        principal: on whose behalf.
        role: in which role.
        decision: what would be decided.
        considered: the rules in the order in which they were looked at, the deciding one last.
    """

    tool: str
    address: str
    effect: Effect
    principal: str
    role: Role
    decision: Decision
    considered: tuple[Considered, ...]


class ApprovalStatus(StrEnum):
    """Where an approval stands."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    USED = "used"
    CANCELLED = "cancelled"


class Approval(Value):
    """A question to a person about exactly one call.

    Attributes:
        id: identifies the approval.
        episode: the episode that waits, if one does.
        step: the step of the call.
        call: the index of the call within its step.
        tool: exposed tool name.
        effect: what the call would do.
        arguments: what would be sent, redacted for display.
        arguments_hash: SHA-256 of the canonical arguments; the answer holds for these only.
        rule: the rule that asked.
        requested_by: principal on whose behalf the call is made.
        status: where it stands.
        decided_by: who answered.
        reason: what the approver said.
        created: when it was asked.
        expires: after this it can no longer be answered.
    """

    id: str
    episode: str | None
    step: int | None
    call: int | None
    tool: str
    effect: Effect
    arguments: JsonObject
    arguments_hash: str
    rule: str
    requested_by: str
    status: ApprovalStatus
    decided_by: str | None = None
    reason: str | None = None
    created: datetime
    expires: datetime


class FieldChange(Value):
    """One value that a call would change.

    Attributes:
        where: its name in the record.
        before: what stands there now; None where nothing does.
        after: what the call says.
    """

    where: str
    before: JsonValue = None
    after: JsonValue = None


class Preview(Value):
    """What a call that waits would change, as far as a read of the same system can tell.

    Attributes:
        read_with: exposed name of the tool that read the record; None where there is no such tool.
        record: the record as it stands now, as text that may be cut; None where it could not be read.
        changes: what the call would change in it.
        note: what has to be said of it.
    """

    read_with: str | None = None
    record: str | None = None
    changes: tuple[FieldChange, ...] = ()
    note: str | None = None


class ApprovalAnswer(Value):
    """An approver's answer.

    Attributes:
        approve: yes or no.
        arguments_hash: hash of the arguments that the approver saw; a mismatch is refused.
        reason: why, for the record.
    """

    approve: bool
    arguments_hash: str
    reason: str | None = Field(default=None, max_length=2000)


PrincipalName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.@:|+~%-]{1,100}$")]
"""How whoever shows a key is called: a person, an app, an agent."""

_CENTURY_SECONDS = 100 * 366 * 86_400


class KeyRequest(Value):
    """A wish for an API key.

    Attributes:
        principal: whom it shall speak for.
        role: what it may do in principle.
        expires_in_seconds: how long it is valid; for ever when None.
    """

    principal: PrincipalName
    role: Role
    expires_in_seconds: int | None = Field(default=None, ge=1, le=_CENTURY_SECONDS)


GRACE_SECONDS = 3600
"""How long a key goes on beside the one that takes its place, where nothing else is said."""


class KeyRotation(Value):
    """A wish for a key that takes the place of another.

    Attributes:
        grace_seconds: how long the old one goes on; 0 withdraws it at once.
    """

    grace_seconds: int = Field(default=GRACE_SECONDS, ge=0, le=30 * 86_400)


class KeyInfo(Value):
    """A key as it may be shown.

    Attributes:
        id: identifies the key.
        prefix: its first characters, to recognise it by.
        principal: whom it speaks for.
        role: what it may do in principle.
        episode: the episode it is bound to, for an episode key.
        expires: when it ends.
        revoked: whether it was withdrawn.
    """

    id: str
    prefix: str
    principal: str
    role: Role
    episode: str | None = None
    expires: datetime | None = None
    revoked: bool = False


class SealReport(Value):
    """What an exchange of the key that seals credentials did.

    Attributes:
        key_id: tells the new key's seals from others.
        credentials: how many credentials were sealed anew.
    """

    key_id: str
    credentials: int


class IssuedKey(Value):
    """A new key; the secret is shown this once."""

    key: str = Field(repr=False)
    info: KeyInfo
