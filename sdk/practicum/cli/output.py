"""How commands show what they found: JSON for programs, tables and plain text for people.

Whatever comes from a system, a model or another person is shown without control characters: text must not be able to
move the cursor, hide itself or turn its direction in the terminal of somebody who is about to approve it.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from practicum.contracts.base import Value

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]

_ELLIPSIS = "…"
_WIDEST = 10_000


def plain(text: object) -> str:
    """A text with every character that does not print written out."""
    return "".join(one if one.isprintable() or one in "\n\t" else f"\\u{ord(one):04x}" for one in str(text))


def short(value: JsonValue, width: int = 120) -> str:
    """A value on one line of at most `width` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = plain(" ".join(text.split()))
    return text if len(text) <= width else text[: width - 1] + _ELLIPSIS


def moment(at: datetime | None) -> str:
    """A time in the reader's own zone."""
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def say(text: object, style: str = "") -> None:
    """A line on stdout."""
    Console().print(Text(plain(text), style=style), soft_wrap=True)


def remark(text: object) -> None:
    """A line on stderr, which is not part of the result."""
    Console(stderr=True).print(Text(plain(text), style="dim"), soft_wrap=True)


def show_json(value: Value | Sequence[Value] | JsonValue) -> None:
    """A result as indented JSON."""
    typer.echo(json.dumps(_plain_json(value), indent=2))


def show_json_line(value: Value | JsonValue) -> None:
    """One of several results, as a line of JSON."""
    typer.echo(json.dumps(_plain_json(value)))


def _plain_json(value: Value | Sequence[Value] | JsonValue) -> object:
    if isinstance(value, Value):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain_json(each) for each in value]
    return value


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Rows under headings, or a sentence when there are none. The first column, a name to copy, is never broken."""
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(plain("" if cell is None else cell)) for cell in row))
    if table.row_count:
        _print_table(table)
    else:
        say(empty, "dim")


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Names and values, those without a value left out."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in fields:
        if value is not None and value != "":
            table.add_row(name, Text(plain(value)))
    _print_table(table)


def _print_table(table: Table) -> None:
    # Into a file or a pipe nothing is broken: there `grep` and `cut` are the readers.
    console = Console()
    (console if console.is_terminal else Console(width=_WIDEST)).print(table)
