"""Rows of text (CSV, TSV), cut and continued by whole rows; the first row, which names the columns, stays."""

from dataclasses import dataclass

_SHORTEST_ROOM = 20


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a table.

    Attributes:
        text: the first row and those that are shown.
        shown: how many are shown, without the first.
        left: how many come after them.
    """

    text: str
    shown: int
    left: int


def show_rows(text: str, limit: int, skip: int = 0) -> Rows:
    """The rows of a table that fit, whole ones.

    Args:
        text: a table.
        limit: most characters.
        skip: how many rows after the first were shown already.
    """
    head, *rows = split_rows(text) or [""]
    rows = rows[skip:]
    if len(head) + sum(map(len, rows)) <= limit:
        return Rows(head + "".join(rows), len(rows), 0)
    shown: list[str] = []
    room = limit - len(head)
    for row in rows:
        if len(row) > room:
            break
        shown.append(row)
        room -= len(row)
    if not shown:  # one giant row, or a giant head: there is no whole one to show
        first = rows[:1]
        return Rows((head + "".join(first))[: max(limit, _SHORTEST_ROOM)], len(first), len(rows) - len(first))
    return Rows(head + "".join(shown), len(shown), len(rows) - len(shown))


def split_rows(text: str) -> list[str]:
    """The rows with their line ends; a line end between quotes is part of its row."""
    rows: list[str] = []
    begun: list[str] = []
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    quoted = False
    for line in filter(None, lines):
        quoted ^= line.count('"') % 2 == 1
        begun.append(line)
        if not quoted:
            rows.append("".join(begun))
            begun = []
    return [*rows, *begun]  # a quote that is never closed holds nothing together
