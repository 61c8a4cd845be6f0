import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from examples.systems.company import seed_states
from tests.examples.processes import free_port, started

SECRETS = {"CRM_API_KEY": "from-env-key", "ERP_CLIENT_SECRET": "from-env-secret", "CICD_TOKEN": "from-env-token"}


def test_a_system_keeps_its_data_and_prints_no_secret(tmp_path: Path) -> None:
    port = free_port()
    headers = {"X-API-Key": SECRETS["CRM_API_KEY"]}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
        data = tmp_path / "new" / "folder"
        with started("crm", tmp_path / "log", port, "--data", str(data), "--seed", "3", secrets=SECRETS) as log:
            assert client.get("/_practice/state").json() == seed_states(3)["crm"]
            customer = client.get("/customers", params={"limit": 1}).json()["items"][0]["id"]
            client.post(f"/customers/{customer}/notes", json={"text": "kept"}).raise_for_status()
            assert client.get("/customers", headers={"X-API-Key": "crm-dev-key"}).status_code == 401
        output = log.read_text()
        assert "running on" in output
        assert not [secret for secret in SECRETS.values() if secret in output]
        with started("crm", tmp_path / "log", port, "--data", str(data), secrets=SECRETS):
            assert client.get(f"/customers/{customer}/notes").json()["items"][0]["text"] == "kept"


@pytest.mark.parametrize("name", ["erp", "cicd"])
def test_the_other_systems_start_the_same_way(name: str, tmp_path: Path) -> None:
    port = free_port()
    with (
        started(name, tmp_path / "log", port, "--data", str(tmp_path), secrets=SECRETS),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        if name == "erp":
            form = {"grant_type": "client_credentials"}
            token = client.post("/oauth/token", data=form, auth=("practicum", SECRETS["ERP_CLIENT_SECRET"]))
            client.headers["Authorization"] = f"Bearer {token.json()['access_token']}"
        else:
            client.headers["Authorization"] = f"Bearer {SECRETS['CICD_TOKEN']}"
        assert client.get("/_practice/state").json() == seed_states(1)[name]


def test_without_a_port_it_says_what_is_missing() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "examples.systems.crm", "--data", "."], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "--port" in ended.stderr
