"""The local embedding model: its weights re-coded, served by llama.cpp, and the same as in transformers."""

import importlib
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from practicum.errors import ConfigurationError
from practicum_gateway.models import weights
from practicum_gateway.models.embeddings import read_vectors
from practicum_gateway.models.minilm import shipped_minilm
from tests.gateway.local.conftest import free_port, start_server, wait_until_ready

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

TEXTS = (
    "Refund order NUMBER in full.",
    "The café's naïve customer, José, cancelled; ship nothing!",
    "UNAFFABLE electroencephalographically ##x",
    "日本語" * 166,  # every character is a token
    "a1 " * 160,
)


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    try:
        shipped_minilm()
    except ConfigurationError as error:
        pytest.skip(f"the local embedding model is not tested: {error}")
    port = free_port()
    cache = tmp_path_factory.mktemp("cache")
    arguments = ("--model", weights.MINILM, "--embeddings", "--context", "512", "--cache-dir", str(cache))
    process = start_server(*arguments, "--port", str(port))
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def _served(url: str, *texts: str) -> list[list[float]]:
    answer = httpx.post(f"{url}/v1/embeddings", json={"model": "minilm", "input": texts}, timeout=60)
    assert answer.status_code == 200, answer.text
    return [list(vector) for vector in read_vectors(answer.json(), len(texts), "minilm")]


def test_its_vectors_are_those_of_the_original(minilm: str) -> None:
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(shipped_minilm())
    model = transformers.AutoModel.from_pretrained(shipped_minilm()).eval()
    for text, served in zip(TEXTS, _served(minilm, *TEXTS), strict=True):
        read = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            mean = model(**read).last_hidden_state.mean(1)
        original = torch.nn.functional.normalize(mean)[0].tolist()
        cosine = sum(one * other for one, other in zip(original, served, strict=True))
        assert cosine > 0.999, text[:40]


def test_nearness_is_of_meaning_and_not_of_words(minilm: str) -> None:
    asked, same, other = _served(
        minilm, "Give the customer the money back.", "Refund the buyer.", "Roll the search service back."
    )
    near, far = (sum(map(float.__mul__, asked, vector)) for vector in (same, other))
    assert near > far + 0.2


def test_it_is_recoded_once(tmp_path: Path) -> None:
    made = weights.find(weights.MINILM, tmp_path / "new" / "folder")
    stamp = made.stat().st_mtime_ns
    assert made.read_bytes()[:4] == b"GGUF"
    assert weights.find(weights.MINILM, tmp_path / "new" / "folder").stat().st_mtime_ns == stamp
    assert [path.name for path in made.parent.iterdir()] == [made.name]
