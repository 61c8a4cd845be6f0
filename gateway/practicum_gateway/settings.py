"""What an operator can set. Values are read from the environment in the composition root and nowhere else."""

import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretBytes,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from practicum.contracts.base import Name
from practicum.errors import ConfigurationError

_PREFIX = "PRACTICUM_"
_MASTER_KEY_BYTES = 32
_ORIGIN = r"[a-z][a-z0-9+.-]*://[a-z0-9.:_\[\]-]+"


class Settings(BaseModel):
    """The gateway's settings.

    Attributes:
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        public_url: where the gateway is reached from outside, for what it sends out; as it was reached when absent.
        data_dir: where the embedded database and the generated keys lie.
        database_url: the store; a SQLite file in `data_dir` when absent.
        master_key: 32 bytes that seal the credentials; kept in `data_dir/master.key` when absent.
        former_master_keys: master keys that it takes the place of, base64 and separated by commas in the environment;
            what they sealed is sealed under the present one when the gateway starts.
        admin_key: the first administrator's key; made and kept in `data_dir/admin.key` when absent.
        worker_key: the worker's key; made and kept in `data_dir/worker.key` when absent.
        approver_key: an approver's key; made and kept in `data_dir/approver.key` when absent.
        temporal_address: `host:port` of Temporal; durable episodes are refused when absent.
        temporal_namespace: its namespace.
        task_queue: the queue that the workers listen on.
        otlp_endpoint: where traces, metrics and logs are sent; nowhere when absent.
        telemetry_content: tenants whose prompts, answers, arguments and results are sent there too, `*` for all;
            separated by commas in the environment.
        metrics_key: opens /metrics and nothing else.
        approval_seconds: how long an approval can be answered.
        call_seconds: the most that any call of a system may take; a connector may allow less.
        model_seconds: the most that a model's answer may take, and that a streamed one may be silent.
        body_bytes: the largest request body.
        document_bytes: the largest body of a registration, which may carry a document.
        secrets_dir: a folder of secrets as files, a folder in it for each tenant.
        secret_seconds: how long a secret that is kept outside stays in memory.
        vault_url: a Vault or OpenBao in which secrets are kept.
        vault_ca_file: certificates that its own may be signed by, beside the usual ones.
        vault_namespace: the namespace of the login, and of all else that names none.
        vault_token: the gateway's token there; or one of the following four.
        vault_token_file: a file in which somebody else keeps it fresh.
        vault_role_id: the id of an AppRole.
        vault_secret_id: its secret id.
        vault_role: a role of the Kubernetes login.
        vault_kubernetes_token_file: the token of the pod's service account.
        vault_auth_mount: where the method of the login is, if not where it usually is.
        vault_mount: where the KV engine (version 2) is.
        vault_prefix: the path in it below which the secrets of a tenant are; `{tenant}` stands for its name.
        vault_secrets_namespace: the namespace of that engine; `{tenant}` likewise.
        vault_transit_key: the derived key of a transit engine that takes the place of the master key.
        vault_transit_mount: where that engine is.
        audit_days: how long entries of the audit log are kept; for ever when absent.
        mcp_tool_tokens: the most tokens of tool definitions that a list of the MCP endpoint holds; above, two tools
            find and call the others.
        mcp_origins: origins of web pages that may use the MCP endpoint, such as `https://inspector.example.com`,
            separated by commas in the environment.
        drain_grace_seconds: how long new work is still taken after a signal to end, while readiness is false already.
        drain_seconds: how long what is under way may take after that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int = Field(default=8321, ge=0, le=65535)
    public_url: str | None = Field(default=None, pattern=r"^https?://[!-~]+[^/?#]$", max_length=300)
    data_dir: Path = Path(".practicum")
    database_url: SecretStr | None = None
    master_key: SecretBytes | None = None
    former_master_keys: tuple[SecretBytes, ...] = ()
    admin_key: SecretStr | None = None
    worker_key: SecretStr | None = None
    approver_key: SecretStr | None = None
    temporal_address: str | None = None
    temporal_namespace: str = "default"
    task_queue: str = "practicum"
    otlp_endpoint: str | None = None
    telemetry_content: tuple[Name | Literal["*"], ...] = ()
    metrics_key: SecretStr | None = Field(default=None, min_length=20)
    approval_seconds: int = Field(default=86_400, ge=1)
    call_seconds: float = Field(default=600.0, gt=0)
    model_seconds: float = Field(default=600.0, gt=0)
    body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024)
    document_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    secrets_dir: Path | None = None
    secret_seconds: float = Field(default=60.0, ge=0, le=86_400)
    vault_url: str | None = None
    vault_ca_file: Path | None = None
    vault_namespace: str | None = None
    vault_token: SecretStr | None = None
    vault_token_file: Path | None = None
    vault_role_id: str | None = None
    vault_secret_id: SecretStr | None = None
    vault_role: str | None = None
    vault_kubernetes_token_file: Path = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
    vault_auth_mount: str | None = None
    vault_mount: str = "secret"
    vault_prefix: str = "practicum/{tenant}"
    vault_secrets_namespace: str | None = None
    vault_transit_key: str | None = None
    vault_transit_mount: str = "transit"
    audit_days: int | None = Field(default=None, ge=1)
    mcp_tool_tokens: int = Field(default=20_000, ge=0)
    mcp_origins: tuple[str, ...] = ()
    drain_grace_seconds: float = Field(default=0.0, ge=0, le=600)
    drain_seconds: float = Field(default=30.0, ge=0, le=3600)

    @field_validator("master_key", mode="before")
    @classmethod
    def _decode(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise ValueError("it is not base64") from error

    @field_validator("former_master_keys", mode="before")
    @classmethod
    def _decode_each(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return [base64.b64decode(key.strip(), validate=True) for key in value.split(",")]
        except binascii.Error as error:
            raise ValueError("it is not base64, separated by commas") from error

    @field_validator("mcp_origins", "telemetry_content", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [each.strip() for each in value.split(",")] if isinstance(value, str) else value

    @field_validator("telemetry_content")
    @classmethod
    def _check_collected(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if value and "otlp_endpoint" in info.data and info.data["otlp_endpoint"] is None:
            raise ValueError("nothing is sent anywhere without PRACTICUM_OTLP_ENDPOINT")
        return value

    @field_validator("mcp_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(_ORIGIN, origin) for origin in value):
            raise ValueError("each must be scheme://host or scheme://host:port, in lower case and without a path")
        return value

    @field_validator("former_master_keys")
    @classmethod
    def _measure_each(cls, value: tuple[SecretBytes, ...]) -> tuple[SecretBytes, ...]:
        if any(len(key.get_secret_value()) != _MASTER_KEY_BYTES for key in value):
            raise ValueError(f"each must be base64 of exactly {_MASTER_KEY_BYTES} bytes")
        return value

    @field_validator("master_key")
    @classmethod
    def _measure(cls, value: SecretBytes | None) -> SecretBytes | None:
        if value is not None and len(value.get_secret_value()) != _MASTER_KEY_BYTES:
            raise ValueError(f"it must be base64 of exactly {_MASTER_KEY_BYTES} bytes")
        return value

    @classmethod
    def read(cls, environment: Mapping[str, str], **given: Any) -> "Settings":
        """Settings from environment variables, overridden by what was given; empty variables count as absent.

        Variables of the prefix that belong to other parts of the house are left alone.

        Args:
            environment: usually `os.environ`.
            given: values from the command line; None leaves the environment's.

        Raises:
            ConfigurationError: a value does not fit; the message names the variable and never its value.
        """
        values: dict[str, Any] = {
            name: value for name in cls.model_fields if (value := environment.get(_PREFIX + name.upper()))
        }
        values |= {name: value for name, value in given.items() if value is not None}
        try:
            return cls(**values)
        except ValidationError as error:
            faults = [f"{_PREFIX}{str(fault['loc'][0]).upper()}: {fault['msg']}" for fault in error.errors()]
            raise ConfigurationError(
                "Settings do not fit. " + "; ".join(faults), mend="Correct or unset these variables."
            ) from None

    @property
    def url(self) -> str:
        """The store's SQLAlchemy URL."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{self.data_dir / 'gateway.sqlite3'}"
