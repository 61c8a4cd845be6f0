"""A local installation as a whole: bring it up, take it down."""

from collections.abc import Callable

from practicum.cli.services.local_model import ALIAS, register_local_model
from practicum.cli.services.stack import Stack, StackOptions
from practicum.cli.services.state import StateDirectory
from practicum.cli.services.supervisor import Ending, Launch, Supervisor
from practicum.client import Practicum


def bring_up(state: StateDirectory, options: StackOptions, report: Callable[[str], None]) -> Launch:
    """Start what is wanted and does not run yet, and tell the CLI where it is.

    Args:
        state: the installation's folder.
        options: what is wanted.
        report: told what happens, a line at a time.

    Raises:
        ConfigurationError: something needed is missing, a port is in use, or a service does not start; nothing that
            this call started is left running.
        ConflictError: another `up` or `down` is at work.
    """
    with state.lock():
        launch = Supervisor(state, report).up(Stack(state, options).waves())
        admin = state.keys().admin
        state.write_client(gateway_url(launch), admin)
        _register_model(launch, admin, report)
    return launch


def take_down(state: StateDirectory, report: Callable[[str], None]) -> tuple[Ending, ...]:
    """End what was started here, and nothing else.

    Args:
        state: the installation's folder.
        report: told what happens, a line at a time.

    Raises:
        ConflictError: another `up` or `down` is at work.
    """
    if not state.path.is_dir():
        return ()
    with state.lock():
        endings = Supervisor(state, report).down()
        state.remove_client()
    return endings


def _register_model(launch: Launch, admin: str, report: Callable[[str], None]) -> None:
    """See that the served model stands behind its alias."""
    model = next((service for service in launch.services if service.name == "model"), None)
    if model is None:
        return
    with Practicum(gateway_url(launch), admin) as client:
        if not register_local_model(client, model.ports["model"]):
            report(f"the alias '{ALIAS}' stays with the model that somebody registered")


def gateway_url(launch: Launch) -> str:
    """Where the gateway of a launch listens."""
    gateway = next(service for service in launch.services if service.name == "gateway")
    return gateway.urls["Gateway"]
