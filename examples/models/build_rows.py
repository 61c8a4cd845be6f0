"""Writes the rows that train: `python -m examples.models.build_rows --server URL --out ROWS.jsonl [--count N]`.

Every row is an oracle conversation of the train split in the dialect that production speaks, tokenised by the server
that will serve it, piece by piece as prompts are.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from examples.models.local import specification
from examples.models.oracle import conversation
from examples.models.rows import Row, write_rows, write_source
from examples.systems.world import World
from examples.tasks.generate import NAME, generate
from practicum.codecs.registry import codec_named
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec
from practicum.contracts.tasks import Split, Task
from practicum.contracts.tools import Tool
from practicum.tasks import digest
from practicum_gateway.models.llama_cpp import DEFAULT_CODEC, LlamaCppProvider


async def row(
    provider: LlamaCppProvider, spec: ModelSpec, task: Task, messages: tuple[Message, ...], tools: tuple[Tool, ...]
) -> Row:
    """One conversation in tokens: every assistant turn is trained, everything else is context."""
    codec = codec_named(spec.codec or DEFAULT_CODEC)
    turns = [index for index, message in enumerate(messages) if message.role == "assistant"]
    ids = list(await provider.tokenise(spec, codec.render(messages[: turns[0]], tools)))
    trained = [False] * len(ids)
    for number, index in enumerate(turns):
        said = await provider.tokenise(spec, codec.turn(messages[index]))
        ids += said
        trained += [True] * len(said)
        if number + 1 < len(turns):
            between = codec.suffix(messages[index + 1 : turns[number + 1]], closed=True)
            added = await provider.tokenise(spec, between)
            ids += added
            trained += [False] * len(added)
    return Row(task.id, task.family, ids, trained)


async def build(server: str, tasks: Sequence[Task]) -> list[Row]:
    """A row for each task.

    Args:
        server: URL of the llama.cpp server that tokenises.
        tasks: what to make rows of.
    """
    spec, provider = specification(server), LlamaCppProvider()
    try:
        async with World() as practice:
            return [
                await row(provider, spec, task, await conversation(practice, task), practice.tools) for task in tasks
            ]
    finally:
        await provider.aclose()


def main() -> None:
    """Read the command line and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m examples.models.build_rows")
    parser.add_argument("--server", required=True, help="URL of a llama.cpp server with the base model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tasks = generate(Split.TRAIN, options.count, options.seed)
    write_rows(options.out, asyncio.run(build(options.server, tasks)))
    source = {"suite": NAME, "split": Split.TRAIN.value, "tasks": options.count, "seed": options.seed}
    write_source(options.out, {**source, "sha256": digest(tasks)})


if __name__ == "__main__":
    main()
