"""Which gateway a command speaks to, and with whose key."""

import os
from pathlib import Path

from pydantic import Field, ValidationError

from practicum.cli.services.state import StateDirectory
from practicum.client import AsyncPracticum, Practicum
from practicum.client.address import KEY_VARIABLE, TENANT_VARIABLE, URL_VARIABLE
from practicum.contracts.base import Value
from practicum.contracts.tenants import MAIN
from practicum.errors import ConfigurationError

KEY_PREFIX = "prk_"
"""How keys of the gateway begin; behind it a tenant's own keys name their tenant, up to a dot."""
STATE_VARIABLE = "PRACTICUM_DATA_DIR"
STATE = ".practicum"


class LocalGateway(Value):
    """The gateway that `practicum up` started, as it wrote it down."""

    url: str
    api_key: str = Field(repr=False)


def connect(*, as_approver: bool = False) -> Practicum:
    """A client to the gateway of the environment, else to the one that runs in this folder.

    The local key goes to the local gateway only: a URL from the environment comes with a key from the environment.

    Args:
        as_approver: speak for the local installation's approver, since nobody may approve what they asked for.

    Raises:
        ConfigurationError: there is neither.
    """
    return Practicum(*_address(as_approver=as_approver), tenant=os.environ.get(TENANT_VARIABLE) or None)


def connect_to(tenant: str, key: str | None) -> Practicum:
    """A client to the same gateway for one of its tenants.

    Args:
        tenant: the tenant.
        key: an administrator's key to it; the key of the environment when absent.

    Raises:
        ConfigurationError: there is no gateway, or the key says that it is of another tenant.
    """
    url, own = _address(as_approver=False)
    given = key or own
    owner, mark, _ = (given or "").removeprefix(KEY_PREFIX).partition(".")
    if given and given.startswith(KEY_PREFIX) and (owner if mark else MAIN) != tenant:
        raise ConfigurationError(
            f"The key that is given for the tenant '{tenant}' is of another one.",
            mend=f"Have one made with `practicum tenants key {tenant}`." if tenant != MAIN else f"Mend {KEY_VARIABLE}.",
        )
    return Practicum(url, given, tenant=tenant)  # a token may open several


def connect_async() -> AsyncPracticum:
    """As `connect`, for commands that do many things at once."""
    return AsyncPracticum(*_address(as_approver=False), tenant=os.environ.get(TENANT_VARIABLE) or None)


def state_folder() -> Path:
    """The folder of this installation."""
    return Path(os.environ.get(STATE_VARIABLE, STATE))


def _address(*, as_approver: bool) -> tuple[str | None, str | None]:
    url, key = os.environ.get(URL_VARIABLE), os.environ.get(KEY_VARIABLE)
    folder = state_folder()
    local = _local(folder / "client.json")
    if local is not None and url in (None, "", local.url):
        key = key or (StateDirectory(folder).keys().approver if as_approver else local.api_key)
        url = local.url
    return url, key


def _local(path: Path) -> LocalGateway | None:
    try:
        return LocalGateway.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise ConfigurationError(
            f"{path} may not be read.", mend=f"Be the user who ran `practicum up`, or set {URL_VARIABLE}."
        ) from None
    except ValidationError:
        # Without the cause, which would print the key.
        raise ConfigurationError(f"{path} is damaged.", mend="Run `practicum up` again, or delete it.") from None
