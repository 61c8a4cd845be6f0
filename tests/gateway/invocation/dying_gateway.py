"""A real gateway that dies at a given step of a tool call, as if the power failed: `... STEP ARGUMENTS`.

It watches what is written to the ledger, from outside: through the events of SQLAlchemy, and where statements go
straight to a driver through SQLite's trace and the interpreter's own profile.
"""

import os
import signal
import sys
from enum import StrEnum
from types import FrameType
from typing import Any

from sqlalchemy import Engine, Pool, event

from practicum_gateway.__main__ import leave, main
from practicum_gateway.invocation.entries import State
from practicum_gateway.store import prepared
from practicum_gateway.store.embedded import EmbeddedConnection


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
_WRITING = ("INSERT INTO invocations", "UPDATE invocations")
_COMMIT = EmbeddedConnection.commit.__code__
_WRITTEN = prepared._Text.written.__code__  # pyright: ignore[reportPrivateUsage]  # just before it goes to the driver
_ONCE_COMMITTED = (Step.BEFORE_SEND, Step.AFTER_RECORD)


class Death:
    """Waits for its step."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._written = False

    def on_statement(self, *call: Any) -> None:
        """Look at a statement that is about to be executed."""
        statement, parameters = call[2], call[3]
        if statement.startswith(_WRITING) and _STATES[self._step] in parameters:
            self._on_write()

    def on_connect(self, connection: Any, _record: Any) -> None:
        """Look at the statements of a connection to SQLite, with their parameters written into them."""
        if isinstance(connection.driver_connection, EmbeddedConnection):
            sqlite = connection.driver_connection._sqlite  # pyright: ignore[reportPrivateUsage]  # nothing else sees all
            sqlite.set_trace_callback(self._on_text)

    def _on_text(self, statement: str) -> None:
        if statement.startswith(_WRITING) and f"'{_STATES[self._step]}'" in statement:
            self._on_write()

    def _on_write(self) -> None:
        if self._step not in _ONCE_COMMITTED:
            _die()
        self._written = True

    def on_profile(self, frame: FrameType, what: str, value: object) -> None:
        """The values of a statement to PostgreSQL, and the end of a commit to SQLite, where it is no pause."""
        if what == "return" and frame.f_code is _WRITTEN and "$1" in frame.f_locals["self"].text:
            self.on_statement(None, None, frame.f_locals["self"].text, value)
        if self._written and what == "return" and value is None and frame.f_code is _COMMIT:
            _die()

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
    event.listen(Pool, "connect", death.on_connect)
    sys.setprofile(death.on_profile)
    leave(main(sys.argv[2:]))
