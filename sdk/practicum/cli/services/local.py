"""A local installation as a whole: bring it up, take it down."""

from collections.abc import Callable, Iterable
from pathlib import Path

from practicum.cli.services.adapters import Adapters
from practicum.cli.services.local_model import (
    ALIAS,
    LOCAL_URL,
    move_models,
    register_embedder,
    register_local_model,
    served_model,
)
from practicum.cli.services.stack import EMBEDDER, MODEL, Stack, StackOptions
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.cli.services.supervisor import Ending, Launch, Supervisor
from practicum.client import Practicum
from practicum.contracts.models import ModelSpec
from practicum.errors import ConfigurationError


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
        supervisor, stack = Supervisor(state, report), Stack(state, options)
        shipped = served_model(state) if stack.wants_model() else None
        launch = supervisor.up(stack.waves())
        state.write_client(gateway_url(launch), state.keys().admin)
        embedder = _service(launch.services, EMBEDDER)
        if embedder is not None:
            with Practicum(gateway_url(launch), state.keys().admin) as client:
                register_embedder(client, f"{LOCAL_URL}{embedder.ports[EMBEDDER]}")
        model = _service(launch.services, MODEL)
        if shipped is None or model is None:
            return launch
        if not _loaded(model, state):  # it runs since before an adapter came
            model = supervisor.restart(stack.model_server())
            launch = Launch(services=state.services(), started=(*launch.started, MODEL))
        _register_models(state, gateway_url(launch), shipped, local_url(model), report)
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


def serve_adapter(state: StateDirectory, adapter: Path, report: Callable[[str], None]) -> tuple[int, str]:
    """Have the local model server load an adapter besides those it has; it is started anew on its port for that.

    Args:
        state: the installation's folder.
        adapter: a GGUF file; it is copied.
        report: told what happens, a line at a time.

    Returns:
        The adapter's number and the server's URL.

    Raises:
        ConfigurationError: nothing runs here, or the server does not start with the adapter; then it runs without.
        ConflictError: another `up` or `down` is at work.
    """
    with state.lock():
        supervisor = Supervisor(state, report)
        model = _model_server(state)
        number, fresh = Adapters(state).keep(adapter)
        if not _loaded(model, state):
            _restart(state, supervisor, fresh=fresh)
        return number, local_url(model)


def local_server(state: StateDirectory) -> str:
    """Where the local model server of an installation listens.

    Args:
        state: the installation's folder.

    Raises:
        ConfigurationError: none runs.
    """
    return local_url(_model_server(state))


def admin_of(state: StateDirectory) -> Practicum:
    """A client for the administrator of the gateway that runs here.

    Args:
        state: the installation's folder.

    Raises:
        ConfigurationError: none runs.
    """
    gateway = _service(Supervisor(state).running(), "gateway")
    if gateway is None:
        raise ConfigurationError(f"No gateway runs in {state.path}.", mend="Start it with: practicum up")
    return Practicum(gateway.urls["Gateway"], state.keys().admin)


def _model_server(state: StateDirectory) -> RunningService:
    model = _service(Supervisor(state).running(), MODEL)
    if model is None:
        raise ConfigurationError(
            f"No local model server runs in {state.path}.", mend="Start it with: practicum up --model local"
        )
    return model


def _restart(state: StateDirectory, supervisor: Supervisor, *, fresh: bool) -> None:
    """Start the model server anew with every adapter; without the newest if it does not come up with that."""
    stack = Stack(state, StackOptions())
    try:
        supervisor.restart(stack.model_server())
    except ConfigurationError:
        if fresh:
            Adapters(state).drop_last()
        supervisor.restart(stack.model_server())
        raise


def _loaded(model: RunningService, state: StateDirectory) -> bool:
    """Whether the running model server has every adapter of the list."""
    return {str(path) for path in Adapters(state).paths} <= set(model.command)


def _register_models(
    state: StateDirectory, gateway: str, shipped: ModelSpec, url: str, report: Callable[[str], None]
) -> None:
    """See that the gateway knows what the model server serves, and where."""
    spec, adapters = shipped.model_copy(update={"base_url": url}), Adapters(state)
    with Practicum(gateway, state.keys().admin) as client:
        if not register_local_model(client, spec):
            report(f"the alias '{ALIAS}' stays with the model that somebody registered")
        move_models(client, adapters.models, url)
    if spec.version is not None and spec.adapter:
        adapters.remember(spec)


def local_url(model: RunningService) -> str:
    """Where a model server listens."""
    return f"{LOCAL_URL}{model.ports[MODEL]}"


def _service(services: Iterable[RunningService], name: str) -> RunningService | None:
    return next((service for service in services if service.name == name), None)


def gateway_url(launch: Launch) -> str:
    """Where the gateway of a launch listens."""
    gateway = next(service for service in launch.services if service.name == "gateway")
    return gateway.urls["Gateway"]
