"""`practicum tools`: what the systems offer to agents."""

import shlex
from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

import typer

from practicum.cli.artifacts import artifact, tell_of
from practicum.cli.connection import connect
from practicum.cli.exits import exit_of_call
from practicum.cli.inputs import arguments_of
from practicum.cli.output import JsonOption, plain, remark, say, short, show_json, show_table
from practicum.cli.undoing import record, undo
from practicum.contracts.tools import CallStatus, Observation, Tool

app = typer.Typer(help="Find and call what the systems offer.", no_args_is_help=True)

PatternArgument = Annotated[str | None, typer.Argument(help="Pattern over `system.operation`, such as 'crm.*'.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="The most to show.")]


@app.command("list")
def list_all(pattern: PatternArgument = None, limit: LimitOption = None, as_json: JsonOption = False) -> None:
    """List the tools, all or those of a pattern."""
    with connect() as client:
        _show(client.tools.list(pattern, limit=limit), as_json=as_json)


@app.command(epilog="**Example:** `practicum tools search refund an order`")
def search(
    words: Annotated[list[str], typer.Argument(help="What the tool should do.")],
    pattern: Annotated[str | None, typer.Option(help="Only tools of this pattern.")] = None,
    limit: LimitOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Find the tools that fit some words, best first."""
    with connect() as client:
        _show(client.tools.search(" ".join(words), pattern=pattern, limit=limit), as_json=as_json)


@app.command(epilog="**Example:** `practicum tools show crm_get_order --profile openai_strict`")
def show(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    profile: Annotated[
        str | None,
        typer.Option(help="As providers take it: openai, openai_strict, anthropic, gemini, mcp or local."),
    ] = None,
) -> None:
    """Show one tool with the schema of its arguments, as JSON; with a profile, what that form cannot say as well."""
    with connect() as client:
        show_json(client.tools.get(name) if profile is None else client.tools.profiled(name, profile))


@app.command(
    epilog="**Examples:**\n\n"
    "`practicum tools call crm_get_order '{\"order_id\": 1042}'`\n\n"
    "`practicum tools call erp_create_refund @refund.json --key refund-1042`"
)
def call(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    arguments: Annotated[str | None, typer.Argument(help="Its arguments: JSON, @FILE, or - for stdin.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: a repeated key returns the outcome and calls nothing.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool through the gateway's access rules, once."""
    key = key or uuid4().hex
    given = arguments_of(arguments)
    with connect() as client:
        observation = client.tools.call(name, given, idempotency_key=key)
    if as_json:
        show_json({**observation.model_dump(mode="json"), "idempotency_key": key})
    else:
        _show_observation(observation, key)
    raise typer.Exit(exit_of_call(observation.status))


app.command(epilog="**Example:** `practicum tools artifact 3f2a --output invoice.pdf`")(artifact)
app.command(epilog="**Example:** `practicum tools record refund-1042`")(record)
app.command(epilog="**Example:** `practicum tools undo refund-1042`")(undo)


def _show(tools: Sequence[Tool], *, as_json: bool) -> None:
    if as_json:
        show_json(tools)
        return
    show_table(
        ("tool", "address", "effect", "does"),
        ((tool.name, tool.address, tool.effect, short(tool.description, 80)) for tool in tools),
        empty="No tool fits.",
    )


def _show_observation(observation: Observation, key: str) -> None:
    if observation.status is not CallStatus.OK:
        remark(f"{observation.status}{f' (HTTP {observation.http_status})' if observation.http_status else ''}")
    if observation.status is CallStatus.WAITING:  # what it says is for models
        remark(
            f"A person has to approve it ({observation.approval}); nothing was sent. "
            f"Once that is done, make the same call with --key {key}\n"
            f"  -> practicum approvals show {observation.approval}"
        )
    else:
        say(plain(observation.content))
    for warning in observation.warnings:
        remark(f"warning: {warning}")
    if observation.next is not None:
        remark(f"next page: {short(observation.next)}")
    if observation.compensation is not None:
        remark(f"It can be undone, where rules allow it.\n  -> practicum tools undo {shlex.quote(key)}")
    for kept in observation.artifacts:
        tell_of(kept)
