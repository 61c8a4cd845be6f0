import signal
import socket
from pathlib import Path

import httpx
import pytest

from practicum.errors import ConfigurationError
from practicum_gateway.models import weights
from tests.gateway.local.conftest import free_port, start_server, wait_until_ready

pytestmark = pytest.mark.timeout(300)  # re-coding takes six seconds of a core, and cores are shared


def _refused(*arguments: str) -> str:
    process = start_server(*arguments)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Traceback" not in said
    return said


@pytest.mark.model
@pytest.mark.usefixtures("weights_there")
def test_it_serves_until_told_to_stop() -> None:
    port = free_port()
    process = start_server("--model", str(weights.shipped()), "--port", str(port), "--context", "256")
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}")
        answer = httpx.post(f"http://127.0.0.1:{port}/completion", json={"prompt": "Hi", "n_predict": 2}, timeout=30)
        assert answer.json()["tokens_predicted"] == 2
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.model
@pytest.mark.usefixtures("weights_there")
def test_a_port_in_use_a_missing_file_and_a_broken_file_are_one_clear_error_each(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        assert "Give another --port" in _refused("--model", str(weights.shipped()), "--port", port)
    port = str(free_port())
    assert "no model file" in _refused("--model", str(tmp_path / "none.gguf"), "--port", port)
    assert "no adapter file" in _refused(
        "--model", str(weights.shipped()), "--lora", str(tmp_path / "none.gguf"), "--port", port
    )
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF, but not really")
    assert "could not load" in _refused("--model", str(broken), "--port", port)


@pytest.mark.model
@pytest.mark.usefixtures("weights_there")
def test_the_wheels_weights_are_recoded_once(tmp_path: Path) -> None:
    made = weights.find("smollm2", tmp_path / "new" / "folder")
    assert made.read_bytes()[:4] == b"GGUF"
    assert made.stat().st_size > weights.shipped().stat().st_size
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    stamp = made.stat().st_mtime_ns
    assert weights.find("smollm2", made.parent).stat().st_mtime_ns == stamp


def test_a_file_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="smollm2"):
        weights.find(str(tmp_path / "none.gguf"), tmp_path)
