"""`practicum audit`: who did what to what, and whether anybody changed what the log says."""

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from practicum.audit import check_lines
from practicum.cli.connection import connect
from practicum.cli.exits import FAILED
from practicum.cli.inputs import text_of
from practicum.cli.output import JsonOption, moment, remark, say, short, show_fields, show_json, show_table
from practicum.contracts.audit import Action, AuditCheck, AuditHead
from practicum.errors import ConfigurationError, RequestError
from practicum.files import whole_file

app = typer.Typer(help="See who did what, and check that nobody changed what the log says.", no_args_is_help=True)

HeadOption = Annotated[
    str | None,
    typer.Option("--head", metavar="SEQUENCE:HASH", help="A last entry as `practicum audit head` printed it earlier."),
]


@app.command("list")
def list_entries(
    actor: Annotated[str | None, typer.Option(help="Only what this principal did.")] = None,
    action: Annotated[Action | None, typer.Option(help="Only this.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only what was done to this.")] = None,
    episode: Annotated[str | None, typer.Option(help="Only what was done in this episode.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only from this moment on.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only before this moment.")] = None,
    after: Annotated[int | None, typer.Option(min=0, help="Only entries with a greater number.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most to show.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List entries, newest first."""
    with connect() as client:
        found = client.audit.list(
            actor=actor,
            action=action,
            subject=subject,
            episode=episode,
            since=None if since is None else since.astimezone(),
            until=None if until is None else until.astimezone(),
            after=after,
            limit=limit,
        )
    if as_json:
        show_json(found)
        return
    show_table(
        ("number", "at", "actor", "action", "subject", "outcome", "episode", "details"),
        (
            (
                each.sequence,
                moment(each.at),
                f"{each.actor} ({each.role})",
                each.action,
                each.subject,
                each.outcome,
                each.episode,
                "(erased)" if each.details is None else short(each.details, 80),
            )
            for each in found
        ),
        empty="Nothing fits.",
    )


@app.command(
    epilog="**Examples:**\n\n`practicum audit verify --head 1042:5f0c...`\n\n`practicum audit verify audit.jsonl`"
)
def verify(
    file: Annotated[
        Path | None, typer.Argument(help="An export to check, without a gateway; the gateway's own log when absent.")
    ] = None,
    head: HeadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every entry; ends with 1 if one was changed, removed, inserted or moved."""
    noted = None if head is None else _head(head)
    if file is None:
        with connect() as client:
            found = client.audit.verify(noted=noted)
    else:
        found = check_lines(_lines(file), noted)
    if as_json:
        show_json(found)
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(FAILED)


@app.command()
def head(as_json: JsonOption = False) -> None:
    """Print the last entry's number and hash, to be noted outside: `verify --head` finds what went missing since."""
    with connect() as client:
        found = client.audit.head()
    if as_json:
        show_json(found)
    else:
        say(found)


@app.command(epilog="**Example:** `practicum audit export audit.jsonl`")
def export(
    file: Annotated[Path, typer.Argument(help="Where to.")],
    after: Annotated[int, typer.Option(min=0, help="Only entries with a greater number than this.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Write the log to a file, an entry a line; `practicum audit verify FILE` checks it anywhere."""
    count = 0
    with connect() as client, whole_file(file) as out:
        for line in client.audit.export(after=after):
            out.write(line + b"\n")
            count += 1
    if as_json:
        show_json({"file": str(file), "entries": count})
    else:
        say(f"{count} entries are in {file}.")


@app.command(epilog="**Example:** `practicum audit erase ada@example.com --reason 'Request 17 of the privacy office'`")
def erase(
    subject: Annotated[str, typer.Argument(help="What names whom it is about: a name, an address; - for stdin.")],
    reason: Annotated[str, typer.Option(help="Why; it stays in the log, so it must not name them.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase the details of every entry that names somebody; what was erased is an entry itself."""
    if not yes:
        if subject == "-" or not sys.stdin.isatty():
            raise typer.BadParameter("Nobody is there to confirm; give --yes if it is meant.")
        typer.confirm("What is erased is gone for good. Erase it?", abort=True)
    with connect() as client:
        done = client.audit.erase(text_of(subject).strip() if subject == "-" else subject, reason=reason)
    if as_json:
        show_json(done)
        return
    say(f"{done.entries} entries lost their details; entry {done.told[0]} says so.")
    say(done.receipt)
    remark("the receipt proves whose erasure it was; it is not shown again")


def _head(text: str) -> AuditHead:
    try:
        return AuditHead.parse(text)
    except ValueError:
        raise RequestError(
            "--head is no SEQUENCE:HASH.", mend="Give what `practicum audit head` printed when it was noted."
        ) from None


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as opened:
            yield from opened
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be read: {error.strerror or error}.", mend="Name a file of `practicum audit export`."
        ) from None


def _show(found: AuditCheck) -> None:
    if found.ok:
        say(f"The log holds: {found.entries} entries.", "green")
    else:
        say(f"The log does not hold at entry {found.broken}: {found.why}.", "red")
    show_fields(
        (
            ("first", found.first),
            ("head" if found.ok else "holds up to", found.head),
            ("erased", found.erased or None),
        )
    )
