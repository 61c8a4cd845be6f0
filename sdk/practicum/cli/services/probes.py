"""Probes: how one knows that a service is ready. The three ways in which a service can say so."""

import http.client
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from practicum.cli.services.ports import LOOPBACK

_ANSWER_SECONDS = 2.0


class Probe(Protocol):
    """Looks once whether a service is ready."""

    def ready(self) -> bool:
        """Whether it is ready now; never raises for a service that is not."""
        ...


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """Ready when a GET on the loopback answers 200.

    Attributes:
        port: where it listens.
        path: what is asked for.
    """

    port: int
    path: str

    def ready(self) -> bool:
        """Ask once."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=_ANSWER_SECONDS)
        try:
            connection.request("GET", self.path)
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class TcpProbe:
    """Ready when a connection on the loopback is taken.

    Attributes:
        port: where it listens.
    """

    port: int

    def ready(self) -> bool:
        """Connect once."""
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=_ANSWER_SECONDS):
                return True
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class LogProbe:
    """Ready when its log holds certain words; for a service that listens nowhere.

    Attributes:
        log: the log of this start; the supervisor puts an older one aside first.
        words: what the service prints when it is ready.
    """

    log: Path
    words: str

    def ready(self) -> bool:
        """Look once."""
        return self.words in self.log.read_text(encoding="utf-8", errors="replace")
