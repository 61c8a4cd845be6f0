"""Declarations: a file that says what a gateway should be, and what it differs in from the one that is. Pure."""

from practicum.declaration.export import Exported, exported
from practicum.declaration.faults import Faults, Source
from practicum.declaration.form import Reader, WantedTenant, WantedWebhook, wanted_of
from practicum.declaration.plan import Present, held_by, planned, rule_change
from practicum.declaration.rules import HOLD, RuleChange, change_of, denied_by, holding_back
from practicum.declaration.steps import Do, Left, Plan, Step, What

__all__ = [
    "HOLD",
    "Do",
    "Exported",
    "Faults",
    "Left",
    "Plan",
    "Present",
    "Reader",
    "RuleChange",
    "Source",
    "Step",
    "WantedTenant",
    "WantedWebhook",
    "What",
    "change_of",
    "denied_by",
    "exported",
    "held_by",
    "holding_back",
    "planned",
    "rule_change",
    "wanted_of",
]
