"""Registers the example systems with the gateway that runs here: `python -m examples.connect [--state-dir DIR]`.

`practicum up --examples` starts the systems and their practice copies; this tells the gateway of them.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from examples.demo.screen import Screen
from examples.demo.setting import connect
from examples.demo.systems import Systems
from examples.systems.credentials import Credentials
from practicum.cli.services.local import admin_of
from practicum.cli.services.stack import SYSTEMS
from practicum.cli.services.state import StateDirectory
from practicum.errors import ConfigurationError, PracticumError


def main(arguments: Sequence[str] | None = None) -> int:
    """Register them; the same again is no error.

    Args:
        arguments: of the command line; those of this process when None.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m examples.connect", description="Register the example systems.")
    parser.add_argument("--state-dir", type=Path, default=Path(".practicum"), help="folder of the installation")
    options = parser.parse_args(arguments)
    state, screen = StateDirectory(options.state_dir), Screen(Console(stderr=True))
    try:
        with admin_of(state) as client, _systems(state) as systems:
            connect(client, systems, screen)
    except PracticumError as error:
        screen.line(str(error), "red")
        return 2
    return 0


def _systems(state: StateDirectory) -> Systems:
    ports = {title: port for service in state.services() for title, port in service.ports.items()}
    if not {*SYSTEMS, "practice"} <= set(ports):
        raise ConfigurationError("The example systems do not run.", mend="Start them with: practicum up --examples")
    return Systems(
        {name: f"http://127.0.0.1:{ports[name]}" for name in SYSTEMS},
        Credentials.from_environment(os.environ),
        practice_url=f"http://127.0.0.1:{ports['practice']}",
        practice=Credentials.of_practice(os.environ),
    )


if __name__ == "__main__":
    sys.exit(main())
