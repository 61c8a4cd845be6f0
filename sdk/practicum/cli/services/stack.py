"""The stack: which services make up a local Practicum, how each is started, and with which settings."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from practicum.cli.services.adapters import Adapters
from practicum.cli.services.installed import (
    INSTALL_EMBEDDER,
    INSTALL_MODEL,
    examples_root,
    missing_for_embedder,
    missing_for_local_model,
    missing_of,
    temporal_program,
)
from practicum.cli.services.local_model import MINILM, WEIGHTS
from practicum.cli.services.ports import LOOPBACK, PortChooser
from practicum.cli.services.probes import HttpProbe, LogProbe
from practicum.cli.services.process import is_alive
from practicum.cli.services.state import LocalKeys, StateDirectory
from practicum.cli.services.supervisor import Service
from practicum.errors import ConfigurationError, MissingExtraError

PREFERRED_PORTS = {
    "gateway": 8321,
    "temporal": 7233,
    "temporal-ui": 8233,
    "model": 8322,
    "crm": 8331,
    "erp": 8332,
    "cicd": 8333,
    "practice": 8334,
    "embedder": 8323,
}
"""Where each service listens if nobody else does."""

MODEL = "model"
"""The name of the local model's server."""

EMBEDDER = "embedder"
"""The name of the local embedding model's server."""

SYSTEMS = ("crm", "erp", "cicd")
"""The example systems."""

_SECRET_NAME = re.compile(r"(_API_KEY|_KEY|_TOKEN|_SECRET|_PASSWORD|_CREDENTIALS)$|^PRACTICUM_")
_PRACTICE_TOKEN = "PRACTICE_TOKEN"  # noqa: S105  # a variable's name
_SYSTEM_CREDENTIALS = ("CRM_API_KEY", "ERP_CLIENT_ID", "ERP_CLIENT_SECRET", "CICD_TOKEN")
_FIRST_MODEL_SECONDS = 180.0
"""At its first start the model's weights are re-coded, once."""
_EMBEDDER_CONTEXT = 512
"""Tokens that the embedding model reads of a text."""
_WORKER_POLLS = "practicum worker: polls"
"""What the worker prints once it takes work."""
_DRAIN_SECONDS = 15.0
"""Gateway and worker give what is under way ten seconds to finish before they end."""
_INSTALL_LOCAL = "Install it with: pip install 'practicum[local]'"


class ModelServer(StrEnum):
    """Whether the embedded model is served."""

    AUTO = "auto"
    """Where it is installed."""
    LOCAL = "local"
    """It must be."""
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """What is wanted.

    Attributes:
        examples: whether the three example systems and the server of their practice copies run too.
        model: whether the embedded model is served.
        embedder: whether the local embedding model is served, which finds solved tasks to show.
        port: the gateway's port; None takes the usual one or, where that is in use, any.
        usual_ports: whether the usual ports are tried first.
    """

    examples: bool = False
    model: ModelServer = ModelServer.AUTO
    embedder: bool = False
    port: int | None = None
    usual_ports: bool = True


class _Ports:
    """Decides on which port each service listens, once."""

    def __init__(self, state: StateDirectory, *, usual: bool) -> None:
        """Look at what runs already.

        Args:
            state: where that is recorded.
            usual: whether the usual ports are tried first.
        """
        recorded = state.services()
        self._alive = {service.name for service in recorded if is_alive(service.process)}
        # While a part still runs, it knows the others by their old ports; after that, new ones may be chosen.
        known = recorded if self._alive else ()
        self._recorded = {(service.name, title): port for service in known for title, port in service.ports.items()}
        self._decided: dict[tuple[str, str], int] = {}
        self._usual = usual
        self._chooser = PortChooser()

    def runs(self, service: str) -> bool:
        """Whether a service runs already."""
        return service in self._alive

    def of(self, service: str, title: str | None = None, *, asked: int | None = None) -> int:
        """The port of a service.

        Args:
            service: the service.
            title: which of its ports; its own name for its main one.
            asked: exactly this port is wanted.

        Raises:
            ConfigurationError: the port that was asked for is in use, or the service runs on another.
        """
        key = (service, title or service)
        if key not in self._decided:
            self._decided[key] = self._decide(key, asked)
        return self._decided[key]

    def _decide(self, key: tuple[str, str], asked: int | None) -> int:
        service, title = key
        recorded = self._recorded.get(key)
        if recorded is not None and asked not in (None, recorded):
            raise ConfigurationError(
                f"'{service}' has port {recorded} here.", mend="Use `practicum down` before you ask for another port."
            )
        if recorded is not None and service in self._alive:
            return recorded
        if wanted := asked or recorded:
            return self._chooser.claim(wanted, service)
        return self._chooser.choose(PREFERRED_PORTS[title] if self._usual else None)


class Stack:
    """Describes the services of one local Practicum over a state directory."""

    def __init__(self, state: StateDirectory, options: StackOptions) -> None:
        """Prepare to describe them; nothing is started here.

        Args:
            state: the installation's folder; what still runs there keeps its ports.
            options: what is wanted.
        """
        self._state = state
        self._options = options
        self._ports = _Ports(state, usual=options.usual_ports)

    def waves(self) -> list[list[Service]]:
        """The services in the order of starting; those of a wave do not need each other.

        Raises:
            ConfigurationError: something needed is missing, or a port is in use.
        """
        for extra in ("gateway", "workflows"):
            if missing_of(extra):
                raise MissingExtraError(extra, "`practicum up`")
        keys = self._state.keys()
        self._ports.of("gateway", asked=self._options.port)  # first, so that no other service takes what was asked for
        ground = [self._temporal()]
        if self.wants_model():
            ground.append(self.model_server())
        if self._options.embedder or self._ports.runs(EMBEDDER):
            ground.append(self._embedder())
        if self._options.examples:
            ground.extend(self._systems())
        return [ground, [self._gateway(keys)], [self._worker(keys)]]

    def _temporal(self) -> Service:
        program = temporal_program()
        if program is None:
            raise ConfigurationError("The program `temporal` is not installed.", mend=_INSTALL_LOCAL)
        port, ui = self._ports.of("temporal"), self._ports.of("temporal", "temporal-ui")
        return Service(
            name="temporal",
            command=(
                *(str(program), "server", "start-dev", "--ip", LOOPBACK, "--port", str(port), "--ui-port", str(ui)),
                *("--db-filename", str(self._state.path / "temporal.db")),
                # Measured: twice the throughput of the defaults, and still safe against a crash of the process.
                *("--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"),
                *("--dynamic-config-value", "matching.numTaskqueueReadPartitions=1"),
                *("--dynamic-config-value", "matching.numTaskqueueWritePartitions=1"),
                *("--log-level", "warn", "--ui-disable-news-fetch"),
            ),
            directory=self._state.path,
            # Through the UI, which answers only when the server and its namespace do.
            probe=HttpProbe(ui, "/api/v1/namespaces/default"),
            environment=_plain_environment(),
            ports={"temporal": port, "temporal-ui": ui},
            urls={"Temporal UI": f"http://{LOOPBACK}:{ui}"},
        )

    def wants_model(self) -> bool:
        """Whether the local model is among the services: it runs already, or can and shall.

        Raises:
            ConfigurationError: it shall, and something that it needs is not installed.
        """
        if self._ports.runs(MODEL):
            return True
        if self._options.model is ModelServer.NONE:
            return False
        missing = missing_for_local_model()
        if missing and self._options.model is ModelServer.LOCAL:
            raise ConfigurationError(
                f"The local model cannot be served: {' and '.join(missing)} not installed.",
                mend=f"Install it with: {INSTALL_MODEL}",
            )
        return not missing

    def model_server(self) -> Service:
        """The local model's server with every adapter of this installation.

        Raises:
            ConfigurationError: the list of adapters is damaged, or a port is in use.
        """
        port = self._ports.of(MODEL)
        lora = [part for path in Adapters(self._state).paths for part in ("--lora", str(path))]
        return Service(
            name=MODEL,
            command=_python("practicum_gateway.models.llama_server", "--model", WEIGHTS, *lora, "--port", str(port)),
            directory=self._state.path,
            probe=HttpProbe(port, "/health"),
            environment=_plain_environment(),
            ports={MODEL: port},
            timeout=_FIRST_MODEL_SECONDS,
        )

    def _embedder(self) -> Service:
        if missing := missing_for_embedder():
            raise ConfigurationError(
                f"The local embedding model cannot be served: {' and '.join(missing)} not installed.",
                mend=f"Install it with: {INSTALL_EMBEDDER}",
            )
        port = self._ports.of(EMBEDDER)
        arguments = ("--model", MINILM, "--embeddings", "--context", str(_EMBEDDER_CONTEXT), "--port", str(port))
        return Service(
            name=EMBEDDER,
            command=_python("practicum_gateway.models.llama_server", *arguments),
            directory=self._state.path,
            probe=HttpProbe(port, "/health"),
            environment=_plain_environment(),
            ports={EMBEDDER: port},
            timeout=_FIRST_MODEL_SECONDS,
        )

    def _systems(self) -> list[Service]:
        root = examples_root()
        if root is None:
            raise ConfigurationError(
                "The example systems are not part of the installed package; there is no folder `examples` here.",
                mend="Run this in a checkout of Practicum's repository, or leave --examples away.",
            )
        credentials = {name: os.environ[name] for name in _SYSTEM_CREDENTIALS if os.environ.get(name)}
        return [*(self._system(name, root, credentials) for name in SYSTEMS), self._practice(root)]

    def _system(self, name: str, root: Path, credentials: Mapping[str, str]) -> Service:
        port = self._ports.of(name)
        data = self._state.path / "systems"
        return Service(
            name=name,
            command=_python(f"examples.systems.{name}", "--port", str(port), "--data", str(data)),
            directory=root,
            probe=HttpProbe(port, "/healthz"),
            environment=_plain_environment(),
            secrets=credentials,
            ports={name: port},
            urls={f"Example {name.upper()}": f"http://{LOOPBACK}:{port}"},
        )

    def _practice(self, root: Path) -> Service:
        """Copies of the systems for training; they know a secret of their own and none of the live systems'."""
        port = self._ports.of("practice")
        return Service(
            name="practice",
            command=_python("examples.systems.practice_server", "--port", str(port)),
            directory=root,
            probe=HttpProbe(port, "/healthz"),
            environment=_plain_environment(),
            secrets={name: os.environ[name] for name in (_PRACTICE_TOKEN,) if os.environ.get(name)},
            ports={"practice": port},
            urls={"Practice copies": f"http://{LOOPBACK}:{port}"},
        )

    def _gateway(self, keys: LocalKeys) -> Service:
        port = self._ports.of("gateway")
        url = f"http://{LOOPBACK}:{port}"
        return Service(
            name="gateway",
            command=_python(
                *("practicum_gateway", "--host", LOOPBACK, "--port", str(port), "--data-dir", str(self._state.path)),
            ),
            directory=self._state.path,
            probe=HttpProbe(port, "/readyz"),
            # The whole environment: it is the one that calls model providers, and litellm finds their keys there.
            environment={
                "PRACTICUM_DRAIN_SECONDS": "10",
                **os.environ,
                **_PYTHON_SETTINGS,
                "PRACTICUM_TEMPORAL_ADDRESS": f"{LOOPBACK}:{self._ports.of('temporal')}",
            },
            secrets={
                "PRACTICUM_ADMIN_KEY": keys.admin,
                "PRACTICUM_WORKER_KEY": keys.worker,
                "PRACTICUM_APPROVER_KEY": keys.approver,
            },
            ports={"gateway": port},
            grace=_DRAIN_SECONDS,
            urls={"Gateway": url, "Gateway API": f"{url}/openapi.json"},
        )

    def _worker(self, keys: LocalKeys) -> Service:
        gateway = self._ports.of("gateway")
        return Service(
            name="worker",
            command=_python("practicum_workflows"),
            directory=self._state.path,
            probe=LogProbe(self._state.log("worker"), _WORKER_POLLS),
            environment={
                **_plain_environment(),
                "PRACTICUM_URL": f"http://{LOOPBACK}:{gateway}",
                "PRACTICUM_TEMPORAL_ADDRESS": f"{LOOPBACK}:{self._ports.of('temporal')}",
            },
            secrets={"PRACTICUM_API_KEY": keys.worker},
            grace=_DRAIN_SECONDS,
        )


_PYTHON_SETTINGS = {"PYTHONUNBUFFERED": "1"}
"""So that a service's last words reach its log even when it is killed."""


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    """A module of this installation, run by the Python that runs the CLI."""
    return (sys.executable, "-m", module, *arguments)


def _plain_environment() -> dict[str, str]:
    """The environment without what looks like a secret: a service is given only the keys that it needs."""
    kept = {name: value for name, value in os.environ.items() if not _SECRET_NAME.search(name)}
    return kept | _PYTHON_SETTINGS
