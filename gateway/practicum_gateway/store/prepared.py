"""Statements that are executed at every call: their text is made once, and goes to the driver as it is."""

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, cast

from sqlalchemy import (
    ARRAY,
    BindParameter,
    Connection,
    Executable,
    String,
    bindparam,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.sql.visitors import iterate, replacement_traverse
from sqlalchemy.types import JSON, Float, TypeEngine
from sqlalchemy.util import await_only

from practicum_gateway.store.embedded import EmbeddedConnection, as_sqlalchemy
from practicum_gateway.store.server import as_sqlalchemy as from_server

_EMBEDDED = sqlite.dialect(paramstyle="qmark")
_PLACE = "practicum_place"
"""By which rows are told apart that several executions in one go return."""
_FLOAT8 = 701
"""PostgreSQL's number for the type of the only floats that there are."""
_Convert = Callable[[Any], Any]


class Written(NamedTuple):
    """A JSON value that was written already: it goes into its column as it is."""

    text: str


class Prepared:
    """A statement, executed many times with other values."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        """Make its text.

        Args:
            statement: a query, an insertion or an update.
            columns: those that an insertion fills; not needed for other statements.
        """
        whole: Any = statement
        self._statement, self._columns = whole, columns
        self._embedded = _Text(whole, _EMBEDDED, columns, whole.exported_columns)
        self._server: dict[bool, _Text] = {}

    def __call__(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Execute it; gives the rows that it returns, with their columns as attributes.

        Args:
            connection: where.
            values: of its parameters, by their names.

        Raises:
            DBAPIError: it cannot be executed.
        """
        return self.many(connection, (values,))[0]

    def many(self, connection: Connection, each: Sequence[Mapping[str, Any]]) -> Sequence[list[Any]]:
        """Execute it with each of some values, in their order and in one go; gives the rows that each returns.

        Args:
            connection: where.
            each: values of its parameters, by their names, for each time.

        Raises:
            DBAPIError: it cannot be executed.
        """
        driver: Any = connection.connection.driver_connection
        if not isinstance(driver, EmbeddedConnection):
            return self._on_server(connection, driver, each)
        try:
            if self._embedded.returns or len(each) == 1:
                return [self.on(driver, values) for values in each]
            driver.execute_many(self._embedded.text, map(self._embedded.written, each))
        except sqlite3.Error as error:
            raise as_sqlalchemy(error, self._embedded.text) from None
        return [[] for _ in each]

    def on(self, driver: EmbeddedConnection, values: Mapping[str, Any]) -> list[Any]:
        """Execute it at once on a connection to a SQLite file.

        Raises:
            sqlite3.Error: it cannot be executed.
        """
        text = self._embedded
        return [text.row(row) for row in driver.execute(text.text, text.written(values))]

    def _on_server(self, connection: Connection, driver: Any, each: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        """Through asyncpg; all in one statement, where it has parameters."""
        adapted: Any = connection.connection.dbapi_connection
        if not (adapted.autocommit or driver.is_in_transaction()):
            connection.exec_driver_sql("SELECT 1")  # SQLAlchemy begins a transaction with its first statement
        text = self._text_for(connection.dialect, many=len(each) > 1)
        given: list[list[Any]] = [[] for _ in each]
        with from_server(connection.dialect, text.text):
            if len(each) == 1:
                given[0] = [text.row(row) for row in await_only(driver.fetch(text.text, *text.written(each[0])))]
            else:
                for row in await_only(driver.fetch(text.text, *text.columns(each))):
                    given[row[-1] - 1].append(text.row(row))
        return given

    def _text_for(self, dialect: Dialect, *, many: bool) -> "_Text":
        text = self._server.get(many)
        if text is None:
            whole = _for_many(self._statement, self._columns) if many else self._statement
            columns = None if many else self._columns
            text = self._server[many] = _Text(whole, dialect, columns, self._statement.exported_columns)
        return text


Ask = tuple[Prepared, Mapping[str, Any]]
"""A query and the values of its parameters."""


async def answers(engine: AsyncEngine, asks: Sequence[Ask]) -> Sequence[list[Any] | Exception]:
    """What several ask of PostgreSQL, each statement sent once for all who ask it; who cannot be answered fails alone.

    Args:
        engine: one that commits by itself.
        asks: queries that change nothing.
    """
    try:
        return await _answers(engine, asks)
    except DBAPIError as error:
        if len(asks) == 1:
            return [error]
    given: list[list[Any] | Exception] = []
    for ask in asks:
        given.extend(await answers(engine, [ask]))
    return given


async def _answers(engine: AsyncEngine, asks: Sequence[Ask]) -> Sequence[list[Any]]:
    places: dict[Prepared, list[int]] = {}
    for place, (prepared, _) in enumerate(asks):
        places.setdefault(prepared, []).append(place)
    found: list[list[Any]] = [[] for _ in asks]

    def asked(connection: Connection) -> None:
        for prepared, of in places.items():
            for place, rows in zip(of, prepared.many(connection, [asks[at][1] for at in of]), strict=True):
                found[place] = rows

    async with engine.connect() as connection:
        await connection.run_sync(asked)
    return found


class _Text:
    """A statement as one of the drivers takes it.

    Attributes:
        text: the statement.
        returns: whether it returns rows.
    """

    def __init__(self, statement: Any, dialect: Dialect, columns: Sequence[str] | None, returned: Any) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        self.text = str(compiled)
        self._given: dict[str, Any] = compiled.params
        self._names: list[str] = list(compiled.positiontup)
        kinds = [compiled.binds[name].type for name in self._names]
        self._many = [isinstance(kind, ARRAY) for kind in kinds]
        writers = ((place, _writer(_of_one(kind), dialect)) for place, kind in enumerate(kinds))
        self._writers = {place: write for place, write in writers if write is not None}
        self._picked = _picker(self._names)
        self._row: Any = _row([column.key for column in returned])._make
        readers = ((place, _reader(column.type, dialect)) for place, column in enumerate(returned))
        self._readers = [(place, read) for place, read in readers if read is not None]
        self._width = len(returned)
        self.returns = bool(returned)

    def written(self, values: Mapping[str, Any]) -> list[Any]:
        """Values as the driver takes them."""
        try:
            written = self._picked(values)
        except KeyError:
            written = self._picked({**self._given, **values})
        for place, write in self._writers.items():
            value = written[place]
            if value is not None:
                written[place] = write(value)
        return written

    def columns(self, each: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The values of many in arrays, as PostgreSQL takes them, and those that are the same for all as they are."""
        listed: list[Any] = []
        for place, (name, many) in enumerate(zip(self._names, self._many, strict=True)):
            write = self._writers.get(place)
            found = [values[name] for values in each] if many else [self._given[name]]
            if write is not None:
                found = [value if value is None else write(value) for value in found]
            listed.append(found if many else found[0])
        return listed

    def row(self, found: Sequence[Any]) -> Any:
        """A row as the driver gives it, read; what it has beyond the columns is left out."""
        if not self._readers and len(found) == self._width:
            return self._row(found)
        read = list(found)
        del read[self._width :]
        for place, reader in self._readers:
            read[place] = reader(read[place])
        return self._row(read)


def _for_many(statement: Any, columns: Sequence[str] | None) -> Any:
    """A statement that does for each of many values what another one does for one; PostgreSQL's arrays hold them.

    The rows that it returns have the number of their values, from 1, behind the columns.
    """
    kinds: dict[str, Any] = {}
    if columns is not None:
        kinds = {name: statement.table.c[name].type for name in columns}
    else:
        binds: list[Any] = [each for each in iterate(statement) if isinstance(each, BindParameter)]
        kinds = {bind.key: bind.type for bind in binds if bind.required}
    arrays = (bindparam(name, type_=ARRAY(_without_length(kind))) for name, kind in kinds.items())
    listed = func.unnest(*arrays).table_valued(
        *(column(name, kind) for name, kind in kinds.items()), with_ordinality=_PLACE
    )
    given: Any = listed.render_derived(name="given")
    if columns is not None:
        return statement.from_select(columns, select(*(given.c[name] for name in columns)))

    def replaced(element: Any, **_: Any) -> Any:
        return given.c[element.key] if isinstance(element, BindParameter) and element.key in kinds else None

    traverse: Any = replacement_traverse
    whole: Any = traverse(statement, {}, replaced)
    if statement.is_select:
        # With an offset each is looked up by itself, over its index: joined, a table that just grew is read whole.
        found: Any = whole.offset(literal_column("0")).lateral("found")
        return select(*found.c, given.c[_PLACE]).select_from(given.join(found, true()))
    return whole.returning(given.c[_PLACE]) if list(statement.exported_columns) else whole


def _of_one(kind: Any) -> TypeEngine[Any]:
    """The type of an array's elements, or the type itself where it is none."""
    return kind if not isinstance(kind, ARRAY) else cast("Any", kind).item_type


def _without_length(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    """A type to which nothing is cut: what is too long is an error where it is written."""
    return String() if type(kind) is String else kind


def _picker(names: Sequence[str]) -> Callable[[Mapping[str, Any]], list[Any]]:
    """What takes the values of some names out of many."""
    if len(names) == 1:
        (name,) = names
        return lambda values: [values[name]]
    if not names:
        return lambda _: []
    picked: Any = itemgetter(*names)
    return lambda values: list(picked(values))


def _row(names: list[str]) -> Any:
    """A tuple whose parts have the names of columns."""
    make: Any = namedtuple  # noqa: PYI024  # the columns are known when it runs, not before
    return make("Row", names)


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> _Convert | None:
    write = kind.dialect_impl(dialect).bind_processor(dialect)
    if isinstance(kind, JSON) and write is not None:
        dumped: _Convert = write
        return lambda value: value.text if type(value) is Written else dumped(value)
    if dialect.name == "postgresql" and write is None and kind.python_type is str:
        return visible
    return write


def _reader(kind: TypeEngine[Any], dialect: Dialect) -> _Convert | None:
    return kind.dialect_impl(dialect).result_processor(dialect, _FLOAT8 if isinstance(kind, Float) else None)


def visible(value: Any) -> Any:
    """A text as PostgreSQL takes it: it holds no NUL, which a system's may. Other values stay as they are."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value
