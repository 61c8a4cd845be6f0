"""Trained adapters as they come to be served, with a real gateway and, where it is installed, a real llama.cpp."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from practicum.cli.main import invoke
from practicum.cli.services.adapters import Adapters
from practicum.cli.services.installed import missing_for_local_model, missing_of, temporal_program
from practicum.cli.services.local import admin_of
from practicum.cli.services.local_model import ALIAS, move_models, register_local_model, served_model
from practicum.cli.services.stack import MODEL, ModelServer, Stack, StackOptions
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.cli.services.supervisor import Supervisor
from practicum.client import Practicum
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelSpec, ModelVersion, Provider
from practicum.stages.bundle import GGUF, Base, Bundle, Kind, Source, digest_of, write_bundle

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        bool(missing_of("gateway")) or temporal_program() is None, reason="needs the extras gateway and local"
    ),
]

SHIPPED = Path("examples/models/smollm2-orders/adapter.gguf")
CODEC = codec_named("chatml-compact")
LOCAL = ModelSpec(
    alias=ALIAS,
    provider=Provider.LLAMA_CPP,
    target="smollm2",
    base_url="http://127.0.0.1:1",
    adapter={0: 1.0},
    version="shipped",
)


@contextmanager
def running(folder: Path, *, model: ModelServer) -> Generator[StateDirectory]:
    """An installation of which only the gateway runs, and the model server where it is wanted."""
    state = StateDirectory(folder)
    supervisor, stack = Supervisor(state), Stack(state, StackOptions(model=model, usual_ports=False))
    wanted = [[service for service in wave if service.name in (MODEL, "gateway")] for wave in stack.waves()]
    try:
        supervisor.up(wanted)
        yield state
    finally:
        supervisor.down()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Generator[StateDirectory]:
    with running(tmp_path_factory.mktemp("house") / "state", model=ModelServer.NONE) as state:
        yield state


@pytest.fixture
def client(installation: StateDirectory) -> Generator[Practicum]:
    with admin_of(installation) as made:
        yield made
        for alias in made.models.list():
            made.models.remove(alias)


def bundle(
    folder: Path,
    adapter: bytes = b"GGUF",
    *,
    base: str = "smollm2",
    kind: Kind = Kind.ADAPTER,
    template: str = CODEC.template_hash,
) -> Path:
    """A bundle as training leaves it, its weights those that llama.cpp loads."""
    folder.mkdir()
    (folder / GGUF).write_bytes(adapter)
    manifest = Bundle(
        created=datetime.now(UTC),
        stage="sft",
        kind=kind,
        base=Base(name=base, path="/elsewhere", digest="b" * 64),
        codec=CODEC.name,
        template_hash=template,
        stop=CODEC.stops[0],
        stop_ids=(2,),
        system="Do the task by calling tools, then say what you did.",
        sources=(Source(kind="dataset", name="rows", digest="c" * 64),),
        settings={},
        steps=1,
        seconds=0.1,
        software={},
        files={} if kind is Kind.FULL else {GGUF: digest_of(folder / GGUF)},
    )
    write_bundle(folder, manifest)
    return folder


def register(state: StateDirectory, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    status = invoke(["models", "register", *arguments, "--state-dir", str(state.path)])
    shown = capsys.readouterr()
    return status, shown.out, " ".join(shown.err.split())


def test_the_shipped_model_does_not_take_the_place_of_what_somebody_chose(client: Practicum) -> None:
    newer = LOCAL.model_copy(update={"version": "shipped-2", "system": "Be brief."})
    assert register_local_model(client, LOCAL)
    assert register_local_model(client, newer)
    assert client.models.get(ALIAS).version == "shipped-2"
    client.models.rollback(ALIAS)

    newest = newer.model_copy(update={"version": "shipped-3", "system": "Be briefer."})
    assert register_local_model(client, newest)
    assert register_local_model(client, newer)

    assert client.models.get(ALIAS).version == "shipped"
    assert {each.version for each in client.models.versions(ALIAS)} == {"shipped", "shipped-2", "shipped-3"}


def test_what_moved_is_found_again_and_stays_what_it_was(client: Practicum) -> None:
    tuned = LOCAL.model_copy(update={"version": "tuned", "adapter": {1: 1.0}})
    client.models.register(LOCAL)
    client.models.add_version(tuned)
    gone = LOCAL.model_copy(update={"alias": "gone"})

    assert register_local_model(client, LOCAL.model_copy(update={"base_url": "http://127.0.0.1:2"}))
    move_models(client, (tuned, gone), "http://127.0.0.1:2")

    reached = {each.version: each.base_url for each in client.models.versions(ALIAS)}
    assert (reached["shipped"], reached["tuned"]) == ("http://127.0.0.1:2", "http://127.0.0.1:2")
    assert client.models.get(ALIAS).version == "shipped"
    assert client.models.list() == [ALIAS]


def test_a_model_of_somebody_else_keeps_the_alias(client: Practicum) -> None:
    client.models.register(ModelSpec(alias=ALIAS, provider=Provider.LITELLM, target="openai/x"))

    assert not register_local_model(client, LOCAL)

    assert client.models.get(ALIAS).target == "openai/x"


def test_a_bundle_that_cannot_be_served_here_is_refused_before_anything_is_touched(
    installation: StateDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = bundle(tmp_path / "damaged")
    (damaged / GGUF).write_bytes(b"other")
    for folder, said in (
        (bundle(tmp_path / "template", template="e" * 64), "another template of 'chatml-compact'"),
        (bundle(tmp_path / "whole", kind=Kind.FULL), "whole model"),
        (bundle(tmp_path / "base", base="tiny"), "over 'tiny'"),
        (damaged, "was changed"),
        (tmp_path, "holds no bundle"),
        (bundle(tmp_path / "good"), "No local model server runs"),
    ):
        status, _, error = register(installation, "local", str(folder), capsys=capsys)
        assert status != 0
        assert said in error
        assert "->" in error
    assert Adapters(installation).paths == ()


def test_nothing_is_registered_where_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = StateDirectory(tmp_path / "state")
    status, _, error = register(state, "local", str(bundle(tmp_path / "good")), capsys=capsys)
    assert status != 0
    assert "practicum up" in error
    assert not state.path.exists()


@pytest.mark.model
@pytest.mark.skipif(bool(missing_for_local_model()) or not SHIPPED.exists(), reason="needs the local model")
def test_an_adapter_is_served_beside_the_others_and_a_broken_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = served_model(StateDirectory(tmp_path / "state"))
    with running(tmp_path / "state", model=ModelServer.LOCAL) as state, admin_of(state) as client:
        before = _model(state)
        url = f"http://127.0.0.1:{before.ports[MODEL]}"
        spec = spec.model_copy(update={"base_url": url})
        assert register_local_model(client, spec)
        client.models.register(spec.model_copy(update={"alias": "bare", "adapter": {}, "version": "bare"}))

        # Other bytes, the same weights: what stands behind the tensors is not read.
        trained = str(bundle(tmp_path / "trained", SHIPPED.read_bytes() + bytes(64)))
        status, out, _ = register(state, ALIAS, trained, "--version", "again", "--json", capsys=capsys)

        assert status == 0
        told = ModelVersion.model_validate_json(out)
        assert (told.version, told.current, told.base_url) == ("again", False, url)
        assert told.bundle is not None
        assert told.bundle.weights_hash == digest_of(Path(trained) / GGUF)
        after = _model(state)
        assert (after.ports, after.process != before.process) == (before.ports, True)
        assert [service.name for service in state.services()] == [MODEL, "gateway"]
        shipped = _says(client, state, ALIAS)
        assert _says(client, state, f"{ALIAS}@again") == shipped
        assert _says(client, state, "bare") != shipped

        # The same bundle again is the same version, and nothing is started anew.
        assert register(state, ALIAS, trained, "--version", "again", capsys=capsys)[0] == 0
        assert _model(state) == after

        broken = str(bundle(tmp_path / "broken", b"GGUF, but not really"))
        status, _, error = register(state, ALIAS, broken, capsys=capsys)
        assert status != 0
        assert "could not load" in error
        assert len(Adapters(state).paths) == 2
        assert _says(client, state, ALIAS) == shipped
        assert {each.version for each in client.models.versions(ALIAS)} == {spec.version, "again"}


def _model(state: StateDirectory) -> RunningService:
    return next(service for service in state.services() if service.name == MODEL)


def _says(client: Practicum, state: StateDirectory, model: str) -> JsonObject:
    """What a model answers to a task, at temperature 0."""
    body: JsonObject = {
        "model": model,
        "messages": [
            {"role": "system", "content": "Do the task by calling tools, then say what you did."},
            {"role": "user", "content": "Find the customer named Ada Example."},
        ],
        "max_tokens": 24,
    }
    headers = {"Authorization": f"Bearer {state.keys().admin}"}
    answer = httpx.post(f"{client.url}/v1/chat/completions", json=body, headers=headers, timeout=120)
    assert answer.status_code == 200, answer.text
    message: JsonObject = answer.json()["choices"][0]["message"]
    return message
