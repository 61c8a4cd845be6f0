"""Puts a trained adapter into the folder that is shipped: `python -m examples.models.ship --help`.

adapter.gguf     the adapter
model.json       the model as a gateway registers it, its server's address left out
examples.jsonl   solved tasks of the train split, for retrieval: one conversation a line
manifest.json    data, settings, code and measured success of each stage
"""

import argparse
import asyncio
import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from examples.models.local import specification
from examples.models.oracle import conversation
from examples.systems.world import World
from examples.tasks.generate import generate
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.tasks import Split, Task
from practicum_gateway.models.llama_cpp import DEFAULT_CODEC
from practicum_gateway.models.weights import shipped

_CODE = (
    "examples/models/*.py",
    "examples/tasks/**/*.py",
    "examples/tasks/*.toml",
    "examples/systems/**/*.py",
    "sdk/practicum/codecs/*.py",
)
"""What decides the rows: another hash of these files, and training again may give another adapter."""


def code_hash(root: Path) -> str:
    """SHA-256 over the files that make the rows and train on them, in the order of their paths."""
    found = sorted({path for pattern in _CODE for path in root.glob(pattern)})
    sums = "".join(f"{_sha256(path)}  {path.relative_to(root).as_posix()}\n" for path in found)
    return hashlib.sha256(sums.encode()).hexdigest()


def first_of_each_wording(tasks: Iterable[Task]) -> list[Task]:
    """One task of every wording of every family."""
    found: dict[tuple[str, int], Task] = {}
    for task in tasks:
        found.setdefault((task.family, task.wording), task)
    return list(found.values())


async def _solved(tasks: Iterable[Task]) -> list[tuple[Message, ...]]:
    """Solved conversations without their system message."""
    async with World() as practice:
        return [(await conversation(practice, task))[1:] for task in tasks]


def write_examples(path: Path) -> int:
    """Write the solved tasks for retrieval; returns how many there are."""
    solved = asyncio.run(_solved(first_of_each_wording(generate(Split.TRAIN))))
    path.write_text("".join(_line(messages) for messages in solved), encoding="utf-8")
    return len(solved)


def manifest(folder: Path, phases: list[JsonValue], stages: JsonObject, examples: int, root: Path) -> JsonObject:
    """What the shipped folder is made of, and how good it was measured to be."""
    adapter, weights = folder / "adapter.gguf", shipped()
    return {
        "format": "practicum-adapter/1",
        "name": folder.name,
        "base": {"model": "SmolLM2-135M-Instruct", "file": weights.name, "sha256": _sha256(weights)},
        "adapter": {"file": adapter.name, "bytes": adapter.stat().st_size, "sha256": _sha256(adapter)},
        "codec": {"name": DEFAULT_CODEC, "template_hash": codec_named(DEFAULT_CODEC).template_hash},
        "examples": examples,
        "training": phases,
        "code": {"sha256": code_hash(root), "files": list(_CODE)},
        "measured": stages,
    }


def _stages(pairs: Iterable[str]) -> JsonObject:
    """Each stage's summary, from `name=file` as `examples.models.evaluate` wrote it."""
    found: JsonObject = {}
    for pair in pairs:
        name, _, path = pair.partition("=")
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        found[name] = {"split": result["split"], **result["summary"]}
    return found


def _line(messages: Iterable[Message]) -> str:
    values = [message.model_dump(mode="json", exclude_defaults=True) for message in messages]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")) + "\n"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(path: Path, value: JsonValue) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Read the command line and write the folder."""
    parser = argparse.ArgumentParser(prog="python -m examples.models.ship")
    parser.add_argument(
        "--trained",
        type=Path,
        action="append",
        required=True,
        help="folder that train_adapter wrote; repeat it for each phase in turn, the last adapter is shipped",
    )
    parser.add_argument("--stage", action="append", default=[], help="NAME=FILE that evaluate wrote; repeat it")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    folder: Path = options.out
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(options.trained[-1] / "adapter.gguf", folder / "adapter.gguf")
    spec = specification(adapter=1.0).model_copy(update={"version": _version(folder)})
    _write(folder / "model.json", spec.model_dump(mode="json", exclude_defaults=True))
    phases: list[JsonValue] = [json.loads((path / "training.json").read_text("utf-8")) for path in options.trained]
    examples = write_examples(folder / "examples.jsonl")
    root = Path(__file__).resolve().parents[2]
    _write(folder / "manifest.json", manifest(folder, phases, _stages(options.stage), examples, root))


def _version(folder: Path) -> str:
    """Name and content of the adapter, as trajectories record them."""
    return f"{folder.name}-{_sha256(folder / 'adapter.gguf')[:12]}"


if __name__ == "__main__":
    main()
