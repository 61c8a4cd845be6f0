"""The commands that start, end and examine services: `up`, `down`, `status`, `demo`, `doctor`."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from practicum.cli.services.demo import run_demo
from practicum.cli.services.doctor import Doctor, Finding, Health
from practicum.cli.services.local import bring_up, take_down
from practicum.cli.services.process import is_alive
from practicum.cli.services.signals import interruptible
from practicum.cli.services.stack import ModelServer, StackOptions
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.contracts.base import JsonObject

_WATCH_SECONDS = 1.0
_MARKS = {Health.OK: "[green]ok[/]", Health.NOTE: "[yellow]note[/]", Health.MISSING: "[red]missing[/]"}

StateOption = Annotated[
    Path,
    typer.Option(
        "--state-dir", envvar="PRACTICUM_DATA_DIR", help="Folder of this installation: its data, keys and logs."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]
ModelOption = Annotated[
    ModelServer,
    typer.Option(
        "--model",
        help="Whether the small local model is served: 'auto' where it is installed, 'local' always, 'none' never. "
        "Other models: `practicum models add`.",
    ),
]

DEFAULT_STATE = Path(".practicum")
DEFAULT_DEMO = DEFAULT_STATE / "demo"


def app_commands(app: typer.Typer) -> None:
    """Give the CLI its commands about services.

    Args:
        app: the CLI.
    """
    app.command()(up)
    app.command()(down)
    app.command()(status)
    app.command()(demo)
    app.command()(doctor)


def up(
    examples: Annotated[bool, typer.Option(help="Start the three example systems too (in a checkout).")] = False,
    model: ModelOption = ModelServer.AUTO,
    embedder: Annotated[
        bool, typer.Option("--embedder", help="Serve the small local embedding model too, as the alias 'minilm'.")
    ] = False,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The gateway's port.")] = None,
    detach: Annotated[bool, typer.Option(help="Leave everything running and return.")] = True,
    state_dir: StateOption = DEFAULT_STATE,
    as_json: JsonOption = False,
) -> None:
    """Start Temporal, the gateway, a worker and a local model on this machine; what runs already is kept.

    Prints where everything listens. Nothing stays half up: if one service cannot start, the others are ended again.
    """
    state = StateDirectory(state_dir)
    with interruptible():
        launch = bring_up(state, StackOptions(examples=examples, model=model, embedder=embedder, port=port), _progress)
    if as_json:
        _print_json(_told(state, launch.services) | {"started": list[JsonValue](launch.started)})
    else:
        _print_services(state, launch.services, "Started." if launch.started else "Already running.")
    if not detach:
        _stay(state)


def down(state_dir: StateOption = DEFAULT_STATE, as_json: JsonOption = False) -> None:
    """End exactly what `up` started here, last first."""
    endings = take_down(StateDirectory(state_dir), _progress)
    if as_json:
        _print_json({"ended": [each.name for each in endings if each.ended]})
    elif not endings:
        Console().print("Nothing was running.")


def status(state_dir: StateOption = DEFAULT_STATE, as_json: JsonOption = False) -> None:
    """Show what runs here and where; ends with 1 unless all of it runs."""
    state = StateDirectory(state_dir)
    services = state.services()
    if as_json:
        _print_json(_told(state, services))
    elif services:
        _print_services(state, services, "")
    else:
        Console().print("Nothing is running. `practicum up` starts it.")
    if not services or not all(is_alive(service.process) for service in services):
        raise typer.Exit(1)


def demo(
    model: Annotated[
        str, typer.Option("--model", help="'local', or any name that litellm knows, such as openai/gpt-5-mini.")
    ] = "local",
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the services running; `down --state-dir` ends them.")
    ] = False,
    state_dir: Annotated[Path, typer.Option(help="Folder of the demo's own installation.")] = DEFAULT_DEMO,
    as_json: JsonOption = False,
) -> None:
    """Run real agents on the example systems and check what they did there; ends with 0 only if all of it is right."""
    arguments = ["--model", model, "--state-dir", str(state_dir.absolute())]
    arguments += ["--keep"] if keep else []
    arguments += ["--json"] if as_json else []
    raise typer.Exit(run_demo(arguments))


def doctor(state_dir: StateOption = DEFAULT_STATE, as_json: JsonOption = False) -> None:
    """Look at this machine, say what is missing and how to mend it; ends with 1 if something needed is missing."""
    findings = list(Doctor(StateDirectory(state_dir)).examine())
    if as_json:
        _print_json({"findings": [finding.model_dump(mode="json") for finding in findings]})
    else:
        _print_findings(findings)
    if any(finding.health is Health.MISSING for finding in findings):
        raise typer.Exit(1)


def _progress(line: str) -> None:
    """Progress goes to stderr, so that stdout holds the result alone."""
    Console(stderr=True).print(line, style="dim", highlight=False, markup=False)


def _print_json(value: Mapping[str, JsonValue]) -> None:
    typer.echo(json.dumps(value, indent=2))


def _told(state: StateDirectory, services: Sequence[RunningService]) -> JsonObject:
    """Services as programs read them."""
    return {
        "state_dir": str(state.path),
        "urls": {title: url for service in services for title, url in service.urls.items()},
        "services": [
            {
                "name": service.name,
                "running": is_alive(service.process),
                "pid": service.process.pid,
                "ports": dict[str, JsonValue](service.ports),
                "log": str(service.log),
            }
            for service in services
        ],
    }


def _print_services(state: StateDirectory, services: Sequence[RunningService], title: str) -> None:
    console = Console()
    if title:
        console.print(title)
    table = Table(box=None, pad_edge=False)
    for column in ("service", "process", "address"):
        table.add_column(column, overflow="fold")
    for service in services:
        standing = str(service.process.pid) if is_alive(service.process) else "[red]died[/]"
        others = {name: f"127.0.0.1:{port}" for name, port in service.ports.items() if not service.urls}
        addresses = "\n".join(f"{url}  {title}" for title, url in {**service.urls, **others}.items())
        table.add_row(service.name, standing, addresses)
    console.print(table)
    console.print(f"Logs: {escape(str(state.path / 'logs'))}", soft_wrap=True)


def _print_findings(findings: Sequence[Finding]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("", "subject", "found"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        mend = f"\n-> {finding.mend}" if finding.mend else ""
        table.add_row(_MARKS[finding.health], escape(finding.subject), escape(finding.detail + mend))
    Console().print(table)


def _stay(state: StateDirectory) -> None:
    """Stay until told to go or until a service dies; then end everything."""
    died: list[str] = []
    try:
        with interruptible():
            while not died:
                time.sleep(_WATCH_SECONDS)
                died = [service.name for service in state.services() if not is_alive(service.process)]
    except KeyboardInterrupt:
        _progress("ending")
    take_down(state, _progress)
    if died:
        _progress(f"{', '.join(died)} died; see the logs in {state.path / 'logs'}")
        raise typer.Exit(1)
