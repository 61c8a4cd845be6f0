"""The credentials that the example systems ask for: from the environment, with defaults for development on loopback."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """What each system wants to see.

    Attributes:
        crm_api_key: value of the CRM's `X-API-Key` header; `CRM_API_KEY`.
        erp_client_id: OAuth 2 client of the ERP; `ERP_CLIENT_ID`.
        erp_client_secret: its secret; `ERP_CLIENT_SECRET`.
        cicd_token: bearer token of the CI/CD system; `CICD_TOKEN`.
    """

    crm_api_key: str = field(default="crm-dev-key", repr=False)
    erp_client_id: str = "practicum"
    erp_client_secret: str = field(default="erp-dev-secret", repr=False)
    cicd_token: str = field(default="cicd-dev-token", repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Credentials":
        """Read them; what is absent or empty keeps its development default."""
        given = {name: environment.get(name.upper(), "") for name in cls.__dataclass_fields__}
        return cls(**{name: value for name, value in given.items() if value})

    @classmethod
    def of_practice(cls, environment: Mapping[str, str]) -> "Credentials":
        """Those of the practice server: one secret, `PRACTICE_TOKEN`, shown to each system in that system's own way."""
        token = environment.get("PRACTICE_TOKEN") or "practice-dev-token"
        return cls(crm_api_key=token, erp_client_secret=token, cicd_token=token)

    @classmethod
    def fresh(cls) -> "Credentials":
        """Random ones, for a private copy that nobody else may reach."""
        return cls(*(secrets.token_urlsafe(18) for _ in cls.__dataclass_fields__))


def same_secret(given: str | None, expected: str) -> bool:
    """Whether a presented secret is the expected one, in time that tells nothing about it."""
    return given is not None and secrets.compare_digest(given.encode(), expected.encode())
