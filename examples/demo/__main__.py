"""The demo: `python -m examples.demo [--model NAME] [--state-dir DIR] [--keep] [--json]`, or `practicum demo`.

Starts everything that is not running, registers the example systems from the documents they serve, has the model do
held-out tasks, verifies what it left behind in the systems, and exports the episodes. Ends with 0 only if every outcome
is right, with 1 if one is not, with 2 if it could not be told.
"""

import argparse
import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from examples.demo.dataset import write_dataset
from examples.demo.models import LOCAL, Choice, choose
from examples.demo.play import Played, Player
from examples.demo.report import Report
from examples.demo.screen import Screen
from examples.demo.setting import prepare
from examples.demo.systems import Systems
from examples.demo.tasks import shown_tasks
from examples.systems.credentials import Credentials
from practicum.cli.services.local import bring_up, gateway_url, take_down
from practicum.cli.services.signals import interruptible
from practicum.cli.services.stack import SYSTEMS, ModelServer, StackOptions
from practicum.cli.services.state import StateDirectory
from practicum.cli.services.supervisor import Launch
from practicum.client import Practicum
from practicum.errors import PracticumError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo.

    Args:
        arguments: the command line; the process's own when absent.

    Returns:
        0 if every verified outcome is right, 1 if one is not, 2 if it could not be told.
    """
    options = _parser().parse_args(arguments)
    screen = Screen(Console(stderr=options.json))
    began = time.monotonic()
    try:
        with interruptible(), _running(options, screen) as launch:
            report = _perform(options, launch, screen)
    except PracticumError as error:
        screen.line(str(error), "red")
        return 2
    except KeyboardInterrupt:
        screen.line("Stopped.", "yellow")
        return 130
    report.show(screen, time.monotonic() - began)
    if options.json:
        sys.stdout.write(report.as_json() + "\n")
    return 0 if report.right else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description="Run the demo.")
    parser.add_argument("--model", default="local", help="'local', or any name that litellm knows")
    parser.add_argument("--state-dir", type=Path, default=Path(".practicum") / "demo", help="folder of its own")
    parser.add_argument("--keep", action="store_true", help="leave running what it started")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON, the story to stderr")
    return parser


@contextmanager
def _running(options: argparse.Namespace, screen: Screen) -> Generator[Launch]:
    """The services, started where they are not, and ended again if this demo started them."""
    screen.heading("Services")
    state = StateDirectory(options.state_dir)
    model = ModelServer.LOCAL if options.model == LOCAL else ModelServer.NONE
    launch = bring_up(state, StackOptions(examples=True, model=model), lambda line: screen.line(f"  {line}", "dim"))
    ours = len(launch.started) == len(launch.services)
    for service in launch.services:
        for title, url in service.urls.items():
            screen.line(f"  {title:<18} {url}")
    try:
        yield launch
    finally:
        if ours and not options.keep:
            take_down(state, lambda line: screen.line(f"  {line}", "dim"))


def _perform(options: argparse.Namespace, launch: Launch, screen: Screen) -> Report:
    state = StateDirectory(options.state_dir)
    keys = state.keys()
    ports = {title: port for service in launch.services for title, port in service.ports.items()}
    choice = choose(options.model, ports.get("model"), state)
    with ExitStack() as stack:
        client = stack.enter_context(Practicum(gateway_url(launch), keys.admin))
        approver = stack.enter_context(Practicum(gateway_url(launch), keys.approver))
        urls = {name: f"http://127.0.0.1:{ports[name]}" for name in SYSTEMS}
        systems = stack.enter_context(
            Systems(
                urls,
                Credentials.from_environment(os.environ),
                practice_url=f"http://127.0.0.1:{ports['practice']}",
                practice=Credentials.of_practice(os.environ),
            )
        )
        prepare(client, systems, choice, screen)
        player = Player(client, approver, systems, screen, choice.spec.alias)
        played = _play(player, screen)
        return _report(client, choice, played, options.state_dir)


def _play(player: Player, screen: Screen) -> tuple[Played, ...]:
    played: list[Played] = []
    for task in shown_tasks():
        screen.heading(f"Task: {task.prompt}")
        played.append(player.play(task))
        screen.outcome(played[-1].verdict, played[-1].result)
    return tuple(played)


def _report(client: Practicum, choice: Choice, played: tuple[Played, ...], state: Path) -> Report:
    right = [each.episode for each in played if each.right]
    folder = state.absolute() / "dataset"
    dataset = write_dataset(client, right, folder) if right else None
    return Report(state.absolute(), choice, played, dataset, folder)


if __name__ == "__main__":
    sys.exit(main())
