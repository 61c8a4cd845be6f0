"""Suites: tasks with what judges them and where they can be tried, found by a dotted path."""

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Protocol, runtime_checkable

from practicum.contracts.episodes import EpisodeResult
from practicum.contracts.tasks import Split, States, Task, Verdict
from practicum.errors import ConfigurationError
from practicum.tasks.practice import Practice

_FORM = "A suite is named by module and attribute, such as examples.tasks:SUITE."


@runtime_checkable
class Suite(Protocol):
    """A fixed set of tasks."""

    @property
    def name(self) -> str:
        """Its name, which each of its tasks bears too."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of all its tasks: results can be compared where it is the same."""
        ...

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """The tasks of one split, always in the same order; families take turns, so that the first few hold all."""
        ...

    def verify(self, task: Task, before: States, after: States | None, answer: str | None) -> Verdict:
        """Judge an attempt by what it left behind; see `practicum.tasks.Verifier`."""
        ...

    def practice(self) -> AbstractAsyncContextManager[Practice]:
        """Private copies of its systems; any number may be open at once."""
        ...


def load_suite(path: str) -> Suite:
    """Find a suite by the dotted path of an attribute, `module:attribute`.

    The module is imported, so whatever stands in it runs.

    Args:
        path: such as `examples.tasks:SUITE`.

    Raises:
        ConfigurationError: the path has another form, or no suite is there.
    """
    module_name, colon, attribute = path.partition(":")
    if not (colon and module_name and attribute.isidentifier()):
        raise ConfigurationError(f"{path!r} names no suite.", mend=_FORM)
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise ConfigurationError(
            f"The suite {path} cannot be loaded: {error}.",
            mend="Give the command in the folder in which the module lies, or install what holds it.",
        ) from error
    found = getattr(module, attribute, None)
    if found is None:
        raise ConfigurationError(f"{module_name} has no {attribute}.", mend=_FORM)
    if isinstance(found, type) or not isinstance(found, Suite):
        raise ConfigurationError(
            f"{path} is no suite.", mend="A suite has name, digest, tasks, verify and practice; see practicum.tasks."
        )
    return found


def score(suite: Suite, task: Task, result: EpisodeResult, after: States | None) -> Verdict:
    """The verdict on an ended attempt, and the one place that says when there is none.

    An ending that the policy could not have caused earns no reward, not 0: it says nothing of the policy, and would
    spoil every average and every baseline that it enters.

    Args:
        suite: what judges.
        task: what was asked; its start state is where the attempt began.
        result: how the attempt ended.
        after: the systems' states then; None when they could not be read.
    """
    if not result.cause.by_policy:
        return Verdict(reward=None, differences=(f"ended by {result.cause}, not by the policy: {result.reason}",))
    return suite.verify(task, task.start, after, result.answer)
