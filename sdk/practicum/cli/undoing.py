"""`practicum tools record` and `practicum tools undo`: what became of a call, and taking it back."""

import sys
from typing import Annotated

import typer

from practicum.cli.approvals import YesOption
from practicum.cli.connection import connect
from practicum.cli.exits import exit_of_call
from practicum.cli.output import JsonOption, moment, plain, remark, say, short, show_fields, show_json
from practicum.contracts.tools import CallStatus
from practicum.contracts.trajectory import CallRecord
from practicum.errors import ConflictError

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="Idempotency key of the call.")]
EpisodeOption = Annotated[str | None, typer.Option(help="The episode it belongs to, if it does.")]


def record(key: KeyArgument, episode: EpisodeOption = None, as_json: JsonOption = False) -> None:
    """Show what became of a call, and how it can be undone where its system's document says so."""
    with connect() as client:
        found = client.tools.record(key, episode=episode)
    if as_json:
        show_json(found)
    else:
        _show(found)


def undo(
    key: KeyArgument,
    episode: EpisodeOption = None,
    own_key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key of the undoing; the gateway's own when left out.")
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the call that undoes another, once, through the access rules."""
    with connect() as client:
        found = client.tools.record(key, episode=episode)
        if found.undo is None and found.undone is None:
            raise ConflictError(f"This call cannot be undone. {found.note}", mend="Look at the system.")
        if not yes and found.undo is not None:
            if not sys.stdin.isatty():
                raise typer.BadParameter("Nobody is there to confirm; give --yes once you have seen what is called.")
            _show(found)
            typer.confirm("Make the call that undoes it?", abort=True)
        seen = client.tools.undo(key, episode=episode, idempotency_key=own_key)
    if as_json:
        show_json(seen)
    else:
        if seen.status is not CallStatus.OK:
            remark(seen.status)
        say(plain(seen.content))
    raise typer.Exit(exit_of_call(seen.status))


def _show(found: CallRecord) -> None:
    undoing = {} if found.undo is None else found.undo.arguments
    show_fields(
        (
            ("tool", found.tool),
            *((f"  {name}", short(value, 2000)) for name, value in found.arguments.items()),
            ("status", found.observation.status),
            ("made", moment(found.started)),
            ("on behalf of", found.principal),
            ("episode", found.episode),
            ("undone", found.undone),
            ("undone by calling", found.undo and found.undo.tool),
            *((f"  {name}", short(value, 2000)) for name, value in undoing.items()),
            ("not undone, for", found.note),
        )
    )
