"""Statements that are executed at every call: on SQLite their text is made once, and goes to the driver as it is."""

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import TypeEngine

from practicum_gateway.store.embedded import EmbeddedConnection, as_sqlalchemy

_DIALECT = sqlite.dialect(paramstyle="qmark")
_Convert = Callable[[Any], Any]


class Prepared:
    """A statement, executed many times with other values."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        """Make its text.

        Args:
            statement: a query, an insertion or an update.
            columns: those that an insertion fills; not needed for other statements.
        """
        self._statement = statement
        whole: Any = statement
        compiled = whole.compile(dialect=_DIALECT, column_keys=columns)
        self._text = str(compiled)
        self._given: dict[str, Any] = compiled.params
        self._binds = [(name, _writer(compiled.binds[name].type)) for name in compiled.positiontup]
        returned: list[Any] = list(whole.exported_columns)
        self._row: Any = _row([column.key for column in returned])._make
        readers = ((place, _reader(column.type)) for place, column in enumerate(returned))
        self._readers = [(place, read) for place, read in readers if read is not None]
        self._returns = bool(returned)

    def __call__(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Execute it; gives the rows that it returns, with their columns as attributes.

        Args:
            connection: where.
            values: of its parameters, by their names.

        Raises:
            DBAPIError: it cannot be executed.
        """
        driver = connection.connection.driver_connection
        if isinstance(driver, EmbeddedConnection):
            try:
                return self.on(driver, values)
            except sqlite3.Error as error:
                raise as_sqlalchemy(error, self._text) from None
        result = connection.execute(self._statement, dict(values))
        return list(result) if self._returns else []

    def on(self, driver: EmbeddedConnection, values: Mapping[str, Any]) -> list[Any]:
        """Execute it at once on a connection to a SQLite file.

        Raises:
            sqlite3.Error: it cannot be executed.
        """
        whole = {**self._given, **values}
        written = [whole[name] if write is None else write(whole[name]) for name, write in self._binds]
        return [self._row(self._read(row)) for row in driver.execute(self._text, written)]

    def _read(self, row: Sequence[Any]) -> Sequence[Any]:
        if not self._readers:
            return row
        read = list(row)
        for place, reader in self._readers:
            read[place] = reader(read[place])
        return read


def _row(names: list[str]) -> Any:
    """A tuple whose parts have the names of columns."""
    make: Any = namedtuple  # noqa: PYI024  # the columns are known when it runs, not before
    return make("Row", names)


def _writer(kind: TypeEngine[Any]) -> _Convert | None:
    return kind.dialect_impl(_DIALECT).bind_processor(_DIALECT)


def _reader(kind: TypeEngine[Any]) -> _Convert | None:
    return kind.dialect_impl(_DIALECT).result_processor(_DIALECT, None)
