"""What the tests of the example systems share: a clock, credentials."""

from dataclasses import dataclass

import httpx

from examples.systems.credentials import Credentials

CREDENTIALS = Credentials(
    crm_api_key="test-crm-key",
    erp_client_id="test-client",
    erp_client_secret="test-erp-secret",
    cicd_token="test-cicd-token",
)


@dataclass
class Clock:
    """A clock that moves when it is told to."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def fetch_token(client: httpx.Client) -> str:
    form = {"grant_type": "client_credentials"}
    basic = (CREDENTIALS.erp_client_id, CREDENTIALS.erp_client_secret)
    return client.post("/oauth/token", data=form, auth=basic).raise_for_status().json()["access_token"]
