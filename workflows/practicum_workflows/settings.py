"""What the worker is told by its environment; read once, in `__main__`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from practicum.episode.durable import TASK_QUEUE
from practicum.episode.failures import Retries
from practicum.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Where the worker finds its work and how it does it. The gateway's URL and key are read by the SDK's client.

    Attributes:
        temporal: host and port of Temporal (`PRACTICUM_TEMPORAL_ADDRESS`).
        namespace: Temporal's namespace (`PRACTICUM_TEMPORAL_NAMESPACE`).
        task_queue: the queue it polls (`PRACTICUM_TASK_QUEUE`).
        retries: how many attempts a failing model is worth (`PRACTICUM_MODEL_ATTEMPTS`).
        otlp: base URL of a collector to which spans are sent (`PRACTICUM_OTLP_ENDPOINT`); nowhere when absent.
        patience: seconds to wait for Temporal to come up.
        grace: seconds that running activities have when the worker is stopped; what is not done then, another does.
    """

    temporal: str = "127.0.0.1:7233"
    namespace: str = "default"
    task_queue: str = TASK_QUEUE
    retries: Retries = field(default=Retries())
    otlp: str | None = None
    patience: float = 60.0
    grace: float = 10.0

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "WorkerSettings":
        """The settings in an environment.

        Raises:
            ConfigurationError: one of them cannot be used.
        """
        default = cls()
        attempts = environment.get("PRACTICUM_MODEL_ATTEMPTS", str(default.retries.attempts))
        if not attempts.isdecimal() or int(attempts) < 1:
            raise ConfigurationError(
                f"PRACTICUM_MODEL_ATTEMPTS is {attempts!r}.", mend="Set it to a whole number from 1, or leave it out."
            )
        return cls(
            temporal=environment.get("PRACTICUM_TEMPORAL_ADDRESS") or default.temporal,
            namespace=environment.get("PRACTICUM_TEMPORAL_NAMESPACE") or default.namespace,
            task_queue=environment.get("PRACTICUM_TASK_QUEUE") or default.task_queue,
            retries=Retries(attempts=int(attempts)),
            otlp=environment.get("PRACTICUM_OTLP_ENDPOINT") or None,
        )
