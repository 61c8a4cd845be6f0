"""Ports on this machine's loopback."""

import socket

from practicum.errors import ConfigurationError

LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a connection in TIME_WAIT does not occupy the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


class PortChooser:
    """Hands out free ports, no port twice."""

    def __init__(self) -> None:
        """Begin with none handed out."""
        self._taken: set[int] = set()

    def choose(self, preferred: int | None = None) -> int:
        """A free port: the preferred one if it can be had, else one that the system picks."""
        if preferred is not None and preferred not in self._taken and is_free(preferred):
            self._taken.add(preferred)
            return preferred
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind((LOOPBACK, 0))
                port: int = probe.getsockname()[1]
            if port not in self._taken:
                self._taken.add(port)
                return port

    def claim(self, port: int, purpose: str) -> int:
        """Exactly this port.

        Args:
            port: the port somebody asked for.
            purpose: which service wants it, for the error.

        Raises:
            ConfigurationError: it is in use.
        """
        if port in self._taken or not is_free(port):
            raise ConfigurationError(
                f"Port {port}, asked for by '{purpose}', is in use.",
                mend=f"Choose another port, or end the program that listens on {LOOPBACK}:{port}.",
            )
        self._taken.add(port)
        return port
