"""The demo, run where it lives: in the examples of a checkout."""

import subprocess
import sys
from collections.abc import Sequence

from practicum.cli.services.installed import examples_root
from practicum.errors import ConfigurationError


def run_demo(arguments: Sequence[str]) -> int:
    """Run `examples.demo` and wait for it.

    Args:
        arguments: its command line.

    Returns:
        Its exit code: 0 only if the verified outcomes are right.

    Raises:
        ConfigurationError: the examples are not here.
    """
    root = examples_root()
    if root is None:
        raise ConfigurationError(
            "The demo is not part of the installed package; there is no folder `examples` here.",
            mend="Run it in a checkout of Practicum's repository.",
        )
    command = [sys.executable, "-m", "examples.demo", *arguments]
    return subprocess.run(command, cwd=root, check=False).returncode  # noqa: S603 -- our own module, our own options
