"""What is shipped to run it elsewhere names settings, commands, keys and files that are there."""

import importlib.util
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from typer.testing import CliRunner

from practicum.cli.main import app
from practicum_gateway.bootstrap import FIRST_KEYS
from practicum_gateway.settings import Settings
from practicum_workflows import settings as worker_settings

ROOT = Path(__file__).parents[2]
OURS = "practicum"
KUBERNETES = "1.37"
GATEWAY = {f"PRACTICUM_{name.upper()}" for name in Settings.model_fields}
CLIENT = {"PRACTICUM_URL", "PRACTICUM_API_KEY"}
WORKER = CLIENT | set(re.findall(r"PRACTICUM_[A-Z_]+", Path(worker_settings.__file__).read_text()))
KNOWN = {"gateway": GATEWAY, "worker": WORKER, "audit-check": CLIENT}
MASTER_KEY = "A" * 43 + "="
FIRST = tuple(name.upper() for name, _ in FIRST_KEYS)
READ_ONLY = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def resources(kind: str | None = None) -> list[dict[str, Any]]:
    paths = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
    found = [each for path in paths for each in yaml.safe_load_all(path.read_text())]
    return [each for each in found if kind in {None, each["kind"]}]


def pods() -> Iterator[dict[str, Any]]:
    """The template of every pod, as its own labels and what it holds."""
    yield from (each["spec"]["template"] for each in resources("Deployment"))
    yield from (each["spec"]["jobTemplate"]["spec"]["template"] for each in resources("CronJob"))


def containers() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Everything that runs our image: what it is, its command, its environment with secrets left out."""
    for name, service in compose()["services"].items():
        if service["image"] == OURS:
            yield name, service["command"], service["environment"]
    for pod in pods():
        for container in pod["spec"]["containers"]:
            environment = {each["name"]: each.get("value", "") for each in container["env"]}
            yield container["name"], container["command"], environment


def test_compose_is_what_its_schema_says() -> None:
    schema = files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text()
    jsonschema.validate(compose(), yaml.safe_load(schema))


def test_manifests_are_what_kubernetes_says() -> None:
    for each in resources():
        kubernetes_validate.validate(each, KUBERNETES, strict=True)
    misspelled = resources("Deployment")[0]
    misspelled["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(misspelled, KUBERNETES, strict=True)


@pytest.mark.parametrize(("name", "command", "environment"), tuple(containers()))
def test_each_names_settings_and_a_command_that_are_there(
    name: str, command: list[str], environment: dict[str, str]
) -> None:
    assert set(environment) <= KNOWN[name]
    if command[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(f"{command[2]}.__main__") is not None
        assert command[3:] == []
    else:
        assert command[0] == "practicum"
        assert CliRunner().invoke(app, [*command[1:], "--help"]).exit_code == 0
    if name == "gateway":
        given = {key: value for key, value in environment.items() if not value.startswith("$")}
        Settings.read(given | {"PRACTICUM_MASTER_KEY": MASTER_KEY})


def test_the_image_holds_what_it_copies_and_runs_as_nobody() -> None:
    text = (ROOT / "deploy/Dockerfile").read_text()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [source for line in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE) for source in line.split()]
    assert copied
    assert all((ROOT / source).exists() and f"!{source}" in ignored for source in copied)
    assert set(re.findall(r"PRACTICUM_[A-Z_]+", text)) <= GATEWAY
    assert re.findall(r"^USER (\d+)", text, re.MULTILINE) == ["10001"]
    defaults = dict(re.findall(r"(PRACTICUM_[A-Z_]+)=(\S+)", text))
    assert Settings.read(defaults).data_dir == Path("/data")


def test_several_gateways_share_a_database_alone_and_have_the_time_to_end() -> None:
    (gateway,) = (each for each in resources("Deployment") if each["metadata"]["name"] == "practicum-gateway")
    # A new one is ready before an old one ends, and where it is refused the old ones go on.
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    assert (gateway["spec"]["replicas"], gateway["spec"]["strategy"]) == (2, rolling)
    pod = gateway["spec"]["template"]["spec"]
    container = pod["containers"][0]
    settings = Settings.read({each["name"]: each["value"] for each in container["env"] if "value" in each})
    ends = settings.drain_grace_seconds + settings.drain_seconds
    assert pod["terminationGracePeriodSeconds"] >= ends + 5
    assert settings.drain_grace_seconds >= 2 * container["readinessProbe"]["periodSeconds"]
    paths = {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
    assert paths == {"/healthz", "/readyz"}
    assert all("emptyDir" in volume for volume in pod["volumes"])
    service = compose()["services"]["gateway"]
    assert service["deploy"] == {"replicas": 2}
    assert {"ports", "volumes"}.isdisjoint(service)  # which two could not both have
    kept = {"PRACTICUM_DATABASE_URL", "PRACTICUM_MASTER_KEY", *(f"PRACTICUM_{name}_KEY" for name in FIRST)}
    assert kept <= set(service["environment"])
    assert kept <= {each["name"] for each in container["env"]}
    assert int(service["stop_grace_period"].removesuffix("s")) >= Settings().drain_seconds + 5


def test_every_pod_is_held_in_and_finds_what_it_names() -> None:
    keys = {key for each in resources("Secret") for key in each["stringData"]}
    claims = {each["metadata"]["name"] for each in resources("PersistentVolumeClaim")}
    labels = [pod["metadata"]["labels"] for pod in pods()]
    for pod in pods():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        named = {each["persistentVolumeClaim"]["claimName"] for each in spec["volumes"] if "emptyDir" not in each}
        assert named <= claims
        for container in spec["containers"]:
            assert container["securityContext"] == READ_ONLY
            assert {"requests", "limits"} <= set(container["resources"])
            secrets = [each["valueFrom"]["secretKeyRef"] for each in container["env"] if "valueFrom" in each]
            assert {each["key"] for each in secrets} <= keys
    selecting = [each["spec"]["selector"] for each in resources("Service")]
    selecting += [each["spec"]["selector"]["matchLabels"] for each in resources("PodDisruptionBudget")]
    assert all(any(chosen.items() <= carried.items() for carried in labels) for chosen in selecting)
    assert {each["metadata"].get("namespace", "practicum") for each in resources()} == {"practicum"}


def test_no_secret_is_shipped() -> None:
    assert {value for each in resources("Secret") for value in each["stringData"].values()} == {"REPLACE"}
    variables = (set(service.get("environment", {}).items()) for service in compose()["services"].values())
    secret = {(name, value) for each in variables for name, value in each if re.search(r"KEY|PASSWORD|PWD", name)}
    assert all(re.match(r"\$\{[A-Z_]+:[?-]", value) for _, value in secret)
