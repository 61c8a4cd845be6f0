"""The SQLite database behind an example system, with the books that practice and tests need.

A system's *state* is a JSON object: table -> record id -> record. Money is kept in whole cents, in columns that end in
`_cents`; in a state it appears under the plain name as a number with two decimals. Columns that begin with an
underscore are the system's own bookkeeping and no part of a state.
"""

import json
import math
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Cell]
State: TypeAlias = dict[str, dict[str, Row]]

_BOOKS = """
CREATE TABLE IF NOT EXISTS effects (
    number INTEGER PRIMARY KEY,
    operation TEXT NOT NULL,
    record TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
"""


class StateError(ValueError):
    """A start state does not fit the system: an unknown table or field, or a value of the wrong kind."""


def to_cents(amount: float) -> int:
    """Whole cents of an amount of money.

    Raises:
        ValueError: the amount has fractions of a cent, or is no finite number.
    """
    if not math.isfinite(amount):
        raise ValueError("must be a finite number")
    cents = round(amount * 100)
    if not math.isclose(cents, amount * 100, abs_tol=1e-6):
        raise ValueError("must have at most two decimals")
    return cents


def from_cents(cents: int) -> float:
    """The amount as it travels, a number with at most two decimals."""
    return cents / 100


class Store:
    """One system's database.

    Statements run on the event loop's own thread, one request at a time: each takes microseconds, and a request holds
    no transaction open while it waits for anything. So handlers and dependencies that use it are coroutines.
    """

    def __init__(self, path: Path | str, schema: str, tables: tuple[str, ...], books: tuple[str, ...] = ()) -> None:
        """Open the database and make what is missing in it.

        Args:
            path: a file, or `:memory:` for a private database that ends with this object.
            schema: the tables as SQL, each with `IF NOT EXISTS`.
            tables: those that make up the state, each with an `id`.
            books: others that are emptied when a state is loaded.
        """
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        if str(path) != ":memory:":
            self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.executescript(_BOOKS + schema)
        self._tables = {table: self._columns(table) for table in tables}
        self._books = ("effects", *books)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing: what is written inside stands only if no error leaves the block."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def rows(self, sql: str, **values: Cell) -> list[Row]:
        """What a query answers; `values` fill its `:name` places."""
        return [dict(row) for row in self._connection.execute(sql, values)]

    def row(self, sql: str, **values: Cell) -> Row | None:
        """The first row of a query, or None."""
        return next(iter(self.rows(sql, **values)), None)

    def write(self, sql: str, **values: Cell) -> int:
        """Run a statement; returns the id of an inserted row."""
        return self._connection.execute(sql, values).lastrowid or 0

    def insert(self, table: str, record: Mapping[str, Cell]) -> int:
        """Insert a record by column names, which come from code, never from a request; returns its id."""
        columns, places = ", ".join(record), ", ".join(f":{column}" for column in record)
        return self.write(f"INSERT INTO {table} ({columns}) VALUES ({places})", **record)  # noqa: S608  # own names

    def count_effect(self, operation: str, record: str, detail: Mapping[str, Cell]) -> None:
        """Enter a side effect in the books, inside the transaction that makes it."""
        self.insert("effects", {"operation": operation, "record": record, "detail": json.dumps(detail)})

    def effects(self) -> list[dict[str, object]]:
        """Every side effect since the last load, in order."""
        return [{**row, "detail": json.loads(str(row["detail"]))} for row in self.rows("SELECT * FROM effects")]

    @property
    def empty(self) -> bool:
        """Whether no table of the state holds a record."""
        return not any(self.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in self._tables)  # noqa: S608  # own names

    def dump(self) -> State:
        """The whole state."""
        return {
            table: {str(row["id"]): _exported(row) for row in self.rows(f"SELECT * FROM {table} ORDER BY id")}  # noqa: S608  # own names
            for table in self._tables
        }

    def load(self, state: Mapping[str, Mapping[str, Mapping[str, object]]]) -> None:
        """Replace the state and empty the books.

        Args:
            state: records by table and id; a table that is not named becomes empty.

        Raises:
            StateError: a table or field is unknown, or a value does not fit. Nothing is changed then.
        """
        unknown = [f"/{table}" for table in state if table not in self._tables]
        if unknown:
            raise StateError(f"no such table: {', '.join(unknown)}; known are {', '.join(self._tables)}")
        with self.transaction():
            for table in (*self._books, *self._tables):
                self.write(f"DELETE FROM {table}")  # noqa: S608  # own names
            for table in self._tables:
                for key, record in state.get(table, {}).items():
                    self._insert_loaded(table, key, record)

    def _insert_loaded(self, table: str, key: str, record: Mapping[str, object]) -> None:
        where = f"/{table}/{key}"
        row: Row = {"id": key}
        for name, value in record.items():
            column = name if name in self._tables[table] else f"{name}_cents"
            if column not in self._tables[table] or name == "id" or name.startswith("_"):
                raise StateError(f"{where}: no such field: {name}")
            row[column] = _imported(f"{where}/{name}", column, value)
        try:
            self.insert(table, row)
        except sqlite3.IntegrityError as error:
            raise StateError(f"{where}: {error}") from error

    def _columns(self, table: str) -> frozenset[str]:
        return frozenset(str(row["name"]) for row in self.rows(f"PRAGMA table_info({table})"))


def _exported(row: Row) -> Row:
    """A record as it stands in a state."""
    record: Row = {}
    for column, value in row.items():
        if column == "id" or column.startswith("_"):
            continue
        if column.endswith("_cents") and isinstance(value, int):
            record[column.removesuffix("_cents")] = from_cents(value)
        else:
            record[column] = value
    return record


def _imported(where: str, column: str, value: object) -> Cell:
    """A field of a state as it is stored."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise StateError(f"{where}: must be text, a number or null")
    if not column.endswith("_cents"):
        return value
    if isinstance(value, str) or value is None:
        raise StateError(f"{where}: must be an amount of money")
    try:
        return to_cents(value)
    except ValueError as error:
        raise StateError(f"{where}: {error}") from error
