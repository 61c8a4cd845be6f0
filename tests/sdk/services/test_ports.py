"""Choosing ports."""

import socket

import pytest

from practicum.cli.services.ports import PortChooser, is_free
from practicum.errors import ConfigurationError
from tests.sdk.services.dummies import free_port


def test_the_preferred_port_is_taken_if_it_is_free() -> None:
    port = free_port()

    assert PortChooser().choose(port) == port


def test_an_occupied_port_is_avoided_or_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])

        assert not is_free(port)
        assert PortChooser().choose(port) != port
        with pytest.raises(ConfigurationError, match=rf"Port {port}, asked for by 'gateway', is in use"):
            PortChooser().claim(port, "gateway")


def test_no_port_is_given_twice() -> None:
    chooser = PortChooser()
    port = chooser.choose()

    assert chooser.choose(port) != port
    with pytest.raises(ConfigurationError, match="in use"):
        chooser.claim(port, "other")
