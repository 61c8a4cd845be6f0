"""The suite `orders`: tasks over the example systems, split by entity and wording, with reference solutions."""

from examples.tasks.demo import Demo, demo_tasks
from examples.tasks.generate import NAME, TOOLS, generate
from examples.tasks.reference import Run, run_reference
from examples.tasks.suite import SUITE, Orders
from examples.tasks.validation import faults_of

__all__ = [
    "NAME",
    "SUITE",
    "TOOLS",
    "Demo",
    "Orders",
    "Run",
    "demo_tasks",
    "faults_of",
    "generate",
    "run_reference",
]
