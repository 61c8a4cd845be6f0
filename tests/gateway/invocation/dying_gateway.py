"""A real gateway that dies at a given step of a tool call, as if the power failed: `... STEP ARGUMENTS`.

It watches what is written to the ledger, from outside: through SQLAlchemy's own events.
"""

import os
import signal
import sys
from enum import StrEnum
from typing import Any

from sqlalchemy import Engine, Pool, event

from practicum_gateway.__main__ import leave, main
from practicum_gateway.invocation.ledger import State


class Step(StrEnum):
    """When it dies."""

    BEFORE_MARK = "before-mark"
    """The call is claimed and not yet marked as sent."""
    BEFORE_SEND = "before-send"
    """It is marked as sent, and nothing of it has left."""
    BEFORE_RECORD = "before-record"
    """The system has answered."""
    AFTER_RECORD = "after-record"
    """The outcome is recorded, and whoever asked has not heard of it."""


_STATES = {
    Step.BEFORE_MARK: State.SENT,
    Step.BEFORE_SEND: State.SENT,
    Step.BEFORE_RECORD: State.DONE,
    Step.AFTER_RECORD: State.DONE,
}
"""What the ledger is about to say then."""
_ONCE_COMMITTED = (Step.BEFORE_SEND, Step.AFTER_RECORD)


class Death:
    """Waits for its step."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._written = False

    def on_statement(self, *call: Any) -> None:
        """Look at a statement that is about to be executed."""
        statement, parameters = call[2], call[3]
        if not statement.startswith(("INSERT INTO invocations", "UPDATE invocations")):
            return
        if _STATES[self._step] in parameters:
            if self._step not in _ONCE_COMMITTED:
                _die()
            self._written = True

    def on_checkin(self, *_call: Any) -> None:
        """A connection is given back: what was written on it is committed."""
        if self._written:
            _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    death = Death(Step(sys.argv[1]))
    event.listen(Engine, "before_cursor_execute", death.on_statement)
    event.listen(Pool, "checkin", death.on_checkin)
    leave(main(sys.argv[2:]))
