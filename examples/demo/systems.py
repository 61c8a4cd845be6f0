"""The example systems as they run beside the gateway: what they are registered with, and their state for the tasks."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import httpx

from examples.systems.credentials import Credentials
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    BearerAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    PracticeSpec,
)
from practicum.contracts.tasks import States

_SECONDS = 10.0


class Systems:
    """The three running systems, reached beside the gateway: to set the scene, and to look at what became of it."""

    def __init__(
        self, urls: Mapping[str, str], credentials: Credentials, *, practice_url: str, practice: Credentials
    ) -> None:
        """Take their addresses; nothing is sent yet.

        Args:
            urls: where each system listens, by name.
            credentials: what they ask for.
            practice_url: where their practice copies are.
            practice: what those ask for.
        """
        self._urls = urls
        self._credentials = credentials
        self._practice_url = practice_url
        self._practice = practice
        self._client = httpx.Client(timeout=_SECONDS, trust_env=False)  # loopback: no proxy belongs in between

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def specs(self) -> tuple[ConnectorSpec, ...]:
        """How each system is registered: by the document it serves, and the credential it asks for."""
        auth, practice = _auth(self._credentials), _auth(self._practice)
        return tuple(
            ConnectorSpec(
                name=name,
                source=f"{url}/openapi.json",
                base_url=url,
                auth=auth[name],
                private_network=True,
                practice=PracticeSpec(
                    base_url=f"{self._practice_url}/{name}", auth=practice[name], private_network=True
                ),
            )
            for name, url in self._urls.items()
        )

    def load(self, start: States) -> None:
        """Put the systems into a task's start state; one that it does not name becomes empty.

        Raises:
            httpx.HTTPError: a system does not take it.
        """
        for name, url in self._urls.items():
            answer = self._client.put(
                f"{url}/_practice/state", json=start.get(name, {}), headers=self._headers(name, url)
            )
            answer.raise_for_status()

    def state(self) -> States:
        """What stands in the systems now, once all work under way has come to rest.

        Raises:
            httpx.HTTPError: a system does not answer.
        """
        states: States = {}
        for name, url in self._urls.items():
            answer = self._client.get(f"{url}/_practice/state", headers=self._headers(name, url))
            states[name] = answer.raise_for_status().json()
        return states

    def effects(self, name: str) -> list[JsonObject]:
        """Every side effect that a system has counted since its state was loaded.

        Raises:
            httpx.HTTPError: the system does not answer.
        """
        url = self._urls[name]
        answer = self._client.get(f"{url}/_practice/effects", headers=self._headers(name, url))
        found: list[JsonObject] = answer.raise_for_status().json()["effects"]
        return found

    def _headers(self, name: str, url: str) -> dict[str, str]:
        if name == "crm":
            return {"X-API-Key": self._credentials.crm_api_key}
        if name == "cicd":
            return {"Authorization": f"Bearer {self._credentials.cicd_token}"}
        form = {
            "grant_type": "client_credentials",
            "client_id": self._credentials.erp_client_id,
            "client_secret": self._credentials.erp_client_secret,
        }
        issued = self._client.post(f"{url}/oauth/token", data=form).raise_for_status().json()
        return {"Authorization": f"Bearer {issued['access_token']}"}


def _auth(credentials: Credentials) -> dict[str, Auth]:
    """What each system wants to see, in its own way."""
    return {
        "crm": ApiKeyAuth(value=credentials.crm_api_key),
        "erp": ClientCredentialsAuth(client_id=credentials.erp_client_id, client_secret=credentials.erp_client_secret),
        "cicd": BearerAuth(token=credentials.cicd_token),
    }
