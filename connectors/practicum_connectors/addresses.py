"""The guard against reaching inside: which addresses of a host a connector may speak to."""

import asyncio
import ipaddress
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_ALLOW = "Register the connector with `private_network` (--private-network) if it is meant to be reached."
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_OF_CLOUDS = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("168.63.129.16/32"))
"""Where clouds answer their own machines with credentials and settings; not every Python takes them for private."""

_THREADS = ThreadPoolExecutor(32, thread_name_prefix="names")
"""Of their own: name servers that do not answer must not hold up what else is done in threads."""
_under_way: dict[tuple[str, int], Future[list[Any]]] = {}


class AddressError(Exception):
    """A host cannot be resolved, or leads where the connector may not go; its text says which.

    Attributes:
        mend: the way out.
    """

    def __init__(self, detail: str, mend: str) -> None:
        super().__init__(detail)
        self.mend = mend


async def public_address(host: str, port: int) -> str:
    """One address of a host, every one of which is public; the caller connects to this and to no other.

    Raises:
        AddressError: the host is unknown, or one of its addresses is private.
    """
    try:
        found = await _found(host, port)
    except (OSError, UnicodeError):
        raise AddressError(f"The host {host!r} is not known.", "Check the address for a slip of the pen.") from None
    addresses = [str(entry[4][0]) for entry in found]
    private = [address for address in addresses if not is_public(address)]
    if private or not addresses:
        raise AddressError(f"The host {host!r} has a private address.", _ALLOW)
    return addresses[0]


async def _found(host: str, port: int) -> list[Any]:
    """What a host's name leads to, looked up once for all who ask meanwhile: in one thread, however long it takes."""
    asked = _under_way.get((host, port))
    if asked is None:
        asked = _under_way[host, port] = _THREADS.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        asked.add_done_callback(lambda _: _under_way.pop((host, port), None))
    return await asyncio.shield(asyncio.wrap_future(asked))


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet, looked at through every way of wrapping one in another."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.is_site_local:  # what fc00::/7 was before, and still routed inside here and there
            return False
    if any(ip in network for network in _OF_CLOUDS):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)
