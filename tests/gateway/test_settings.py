"""Settings: read once, checked, never repeated."""

import base64
from pathlib import Path

import pytest
from pydantic import ValidationError

from practicum.errors import ConfigurationError
from practicum_gateway.settings import Settings

KEY = base64.b64encode(bytes(32)).decode()


def test_the_defaults_need_nothing() -> None:
    settings = Settings.read({})
    assert (settings.host, settings.data_dir) == ("127.0.0.1", Path(".practicum"))
    assert settings.url == "sqlite+aiosqlite:///.practicum/gateway.sqlite3"
    assert settings.temporal_address is None


def test_the_environment_is_read_and_the_command_line_wins() -> None:
    environment = {
        "PRACTICUM_PORT": "9000",
        "PRACTICUM_DATA_DIR": "/data",
        "PRACTICUM_TEMPORAL_ADDRESS": "temporal:7233",
        "PRACTICUM_MASTER_KEY": KEY,
        "PRACTICUM_ADMIN_KEY": "",
        "PRACTICUM_API_KEY": "belongs to the client",
        "PATH": "/bin",
    }
    settings = Settings.read(environment, port=9001, host=None)
    assert (settings.port, settings.data_dir, settings.temporal_address) == (9001, Path("/data"), "temporal:7233")
    assert settings.master_key is not None
    assert settings.master_key.get_secret_value() == bytes(32)
    assert settings.admin_key is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PRACTICUM_PORT", "canary"),
        ("PRACTICUM_PORT", "70000"),
        ("PRACTICUM_MASTER_KEY", "canary"),
        ("PRACTICUM_MASTER_KEY", base64.b64encode(b"canary").decode()),
        ("PRACTICUM_APPROVAL_SECONDS", "0"),
        ("PRACTICUM_TELEMETRY_CONTENT", "main"),  # nothing is sent anywhere
    ],
)
def test_a_value_that_does_not_fit_is_named_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.read({name: value})
    assert name in str(caught.value)
    assert "canary" not in str(caught.value)
    assert caught.value.mend


def test_secrets_do_not_show() -> None:
    settings = Settings.read(
        {
            "PRACTICUM_ADMIN_KEY": "prk_canary-canary-canary",
            "PRACTICUM_DATABASE_URL": "postgresql://me:canary@db/x",
            "PRACTICUM_MASTER_KEY": KEY,
        }
    )
    assert "canary" not in repr(settings)
    assert KEY not in repr(settings)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1
    with pytest.raises(ValidationError):
        Settings(knob=1)  # pyright: ignore[reportCallIssue]


def test_tenants_whose_content_is_collected_are_named_or_all() -> None:
    collected = {"PRACTICUM_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert Settings.read(collected | {"PRACTICUM_TELEMETRY_CONTENT": "main, sales"}).telemetry_content == (
        "main",
        "sales",
    )
    assert Settings.read(collected | {"PRACTICUM_TELEMETRY_CONTENT": "*"}).telemetry_content == ("*",)
    with pytest.raises(ConfigurationError, match="PRACTICUM_TELEMETRY_CONTENT"):
        Settings.read(collected | {"PRACTICUM_TELEMETRY_CONTENT": "No Tenant"})
