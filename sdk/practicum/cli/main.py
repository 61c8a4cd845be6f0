"""The entry point: puts the commands together and turns errors into one message and an exit status."""

import sys
from collections.abc import Sequence
from importlib.metadata import distribution, version
from typing import Annotated

import typer

from practicum.cli import (
    access,
    approvals,
    audit,
    connectors,
    datasets,
    episodes,
    evaluation,
    issuers,
    mcp,
    models,
    path,
    tenants,
    tools,
    train,
    trajectories,
    webhooks,
)
from practicum.cli.apply import EPILOG as APPLY_EPILOG
from practicum.cli.apply import apply
from practicum.cli.backup import backup
from practicum.cli.capture import EPILOG as CAPTURE_EPILOG
from practicum.cli.capture import capture
from practicum.cli.exits import EPILOG, exit_of
from practicum.cli.output import plain
from practicum.cli.run import run
from practicum.cli.services.commands import app_commands
from practicum.errors import PracticumError

app = typer.Typer(
    name="practicum",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,  # they would print the values of variables, secrets among them
)
app_commands(app)
app.command(epilog="**Example:** `practicum run \"Refund order 1042 within policy\" --tools 'crm.*' --tools 'erp.*'`")(
    run
)
app.command(epilog=CAPTURE_EPILOG)(capture)
app.command(epilog=APPLY_EPILOG)(apply)
app.add_typer(connectors.app, name="connectors")
app.add_typer(tools.app, name="tools")
app.add_typer(episodes.app, name="episodes")
app.add_typer(approvals.app, name="approvals")
app.add_typer(trajectories.app, name="trajectories")
app.add_typer(datasets.app, name="datasets")
app.command(
    "eval", epilog="**Example:** `practicum eval examples.tasks:SUITE --model local -k 2 --limit 96 --out zero-shot`"
)(evaluation.eval_suite)
app.command("compare", epilog="**Example:** `practicum compare zero-shot after-sft`")(evaluation.compare_reports)
app.add_typer(train.app, name="train")
app.add_typer(path.app, name="path")
app.add_typer(models.app, name="models")
app.add_typer(access.rules_app, name="rules")
app.add_typer(access.access_app, name="access")
app.add_typer(access.keys_app, name="keys")
app.add_typer(mcp.app, name="mcp")
app.add_typer(issuers.app, name="issuers")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(audit.app, name="audit")
app.add_typer(access.secrets_app, name="secrets")
app.add_typer(tenants.app, name="tenants")
app.command(epilog="**Example:** `practicum backup before-upgrade.tar.gz`")(backup)
for _command in distribution("practicum").entry_points.select(group="practicum.commands"):
    _command.load()(app)  # of packages above this one, which are imported no further before their command runs


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("practicum"))
        raise typer.Exit


@app.callback()
def practicum(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run tool-using agents over your own systems, and make better models of what they did."""
    del show_version


def invoke(arguments: Sequence[str]) -> int:
    """Run a command.

    Args:
        arguments: what stands behind `practicum` on the command line.

    Returns:
        The exit status; `practicum --help` lists them.
    """
    try:
        app(args=list(arguments), prog_name="practicum")
    except PracticumError as error:
        _complain(error, as_json="--json" in arguments)
        return exit_of(error)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    return 0


def main() -> None:
    """Run the command of this process."""
    sys.exit(invoke(sys.argv[1:]))


def _complain(error: PracticumError, *, as_json: bool) -> None:
    if as_json:
        typer.echo(error.problem().model_dump_json(), err=True)
        return
    trace = f"\n  trace {error.trace}" if error.trace else ""
    typer.echo(f"error: {plain(error)}{trace}", err=True)
