"""Secrets as files below a folder, such as Kubernetes mounts them: a folder for each tenant, nothing outside of it."""

import asyncio
import stat
from pathlib import Path

from practicum.contracts.secrets import SecretReference
from practicum.errors import RequestError, SecretSourceError

_MOST_BYTES = 64 * 1024


class MountedSecrets:
    """The files of one tenant.

    Links are followed as far as they stay within the tenant's folder: Kubernetes exchanges all files of a secret by a
    link `..data` to a folder beside it.
    """

    def __init__(self, folder: Path, tenant: str) -> None:
        """Look into `folder/tenant`."""
        self._folder = folder
        self._tenant = tenant

    async def read(self, reference: SecretReference) -> str:
        """The text of a file, without a line break at its end.

        Raises:
            RequestError: there is no such file, or it is none of the tenant's.
            SecretSourceError: the folder cannot be read.
        """
        return await asyncio.to_thread(self._read, reference)

    def _read(self, reference: SecretReference) -> str:
        try:
            root = self._folder.resolve(strict=True)
            own = root / self._tenant
            path = (own / reference.path).resolve(strict=True)
            # Nor is its folder a link: one to another tenant's would open that.
            if own.is_symlink() or not path.is_relative_to(own) or not stat.S_ISREG(path.stat().st_mode):
                raise _missing(reference)
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
            text = data.decode()
        except (FileNotFoundError, NotADirectoryError, RuntimeError):  # RuntimeError: links in a circle
            raise _missing(reference) from None
        except OSError as error:
            raise SecretSourceError(f"{reference} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise RequestError(f"{reference} is no text.") from None
        if len(data) > _MOST_BYTES:
            raise RequestError(f"{reference} has more than {_MOST_BYTES} bytes.")
        text = text.removesuffix("\n").removesuffix("\r")
        if not text:
            raise RequestError(f"{reference} is empty.")
        return text


def _missing(reference: SecretReference) -> RequestError:
    return RequestError(
        f"There is no secret {reference}.", mend="It is a file below the tenant's folder in PRACTICUM_SECRETS_DIR."
    )
