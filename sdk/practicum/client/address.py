"""Where the gateway is and with which key it is asked; the one place of the SDK that reads the environment."""

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from practicum.errors import ConfigurationError

URL_VARIABLE = "PRACTICUM_URL"
KEY_VARIABLE = "PRACTICUM_API_KEY"
TENANT_VARIABLE = "PRACTICUM_TENANT"
"""Read by the CLI alone: a worker asks for one tenant after the other."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """A gateway's URL and the key to it.

    Attributes:
        url: scheme, host and perhaps a path, without a slash at its end.
        api_key: the key; never shown.
        tenant: the tenant that is asked for, where it is not the key's own.
    """

    url: str
    api_key: str = field(repr=False)
    tenant: str | None = None

    @property
    def loopback(self) -> bool:
        """Whether it is on this machine, where no proxy belongs in between."""
        return urlsplit(self.url).hostname in _LOOPBACK

    @property
    def encrypted(self) -> bool:
        """Whether the way to it is encrypted."""
        return urlsplit(self.url).scheme == "https"


def address_of(url: str | None = None, api_key: str | None = None, tenant: str | None = None) -> Address:
    """The gateway's address from arguments, else from `PRACTICUM_URL` and `PRACTICUM_API_KEY`.

    Raises:
        ConfigurationError: one of them is missing or cannot be used.
    """
    url = url or os.environ.get(URL_VARIABLE)
    api_key = api_key or os.environ.get(KEY_VARIABLE)
    if not url:
        raise ConfigurationError(
            "The gateway's URL is missing.",
            mend=f"Pass url=... or set {URL_VARIABLE}; `practicum up` prints the one it starts, "
            "and the command line finds it in the folder where that was run.",
        )
    if not api_key:
        raise ConfigurationError(
            "The key to the gateway is missing.",
            mend=f"Pass api_key=... or set {KEY_VARIABLE}; an administrator issues keys: `practicum keys create`.",
        )
    return Address(_checked_url(url), _checked_key(api_key), tenant)


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
        parts = urlsplit("")
    if parts.username or parts.password:
        raise ConfigurationError(
            "The gateway's URL carries a user name or password.", mend=f"Leave them out; set {KEY_VARIABLE} instead."
        )
    if not usable or parts.query or parts.fragment:
        raise ConfigurationError(
            f"The gateway's URL cannot be used: {url!r}.", mend="It looks like http://127.0.0.1:8321, without a query."
        )
    return url.rstrip("/")


def _checked_key(api_key: str) -> str:
    # Checked here, since the HTTP library would print the key in its own complaint.
    if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
        raise ConfigurationError(
            "The key to the gateway holds characters that no key has, such as a space or a line break.",
            mend=f"Copy it again into {KEY_VARIABLE}; keys begin with prk_.",
        )
    return api_key
