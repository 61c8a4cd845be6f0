"""Writes the suite `orders`: `python -m examples.tasks --out DIR` makes `train.jsonl` and `held_out.jsonl`."""

import argparse
import asyncio
import sys
from pathlib import Path

from examples.systems.world import World
from examples.tasks.generate import generate
from examples.tasks.validation import faults_of
from practicum.contracts.tasks import Split, Task
from practicum.tasks import digest, write_tasks


def main() -> None:
    """Read the command line and write both files."""
    parser = argparse.ArgumentParser(prog="python -m examples.tasks", description="Write the suite 'orders'.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to, made when missing")
    parser.add_argument("--train", type=int, default=600, help="tasks to learn from")
    parser.add_argument("--held-out", type=int, default=200, help="tasks to measure with")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other tasks from the same words")
    parser.add_argument("--check", action="store_true", help="prove every task and its verifier before writing")
    options = parser.parse_args()
    for split, count in ((Split.TRAIN, options.train), (Split.HELD_OUT, options.held_out)):
        tasks = generate(split, count, options.seed)
        if options.check:
            asyncio.run(_check(tasks))
        path = options.out / f"{split}.jsonl"
        write_tasks(path, tasks)
        sys.stdout.write(f"{path}: {len(tasks)} tasks, sha256 {digest(tasks)}\n")


async def _check(tasks: tuple[Task, ...]) -> None:
    """Stop with an error at the first task that is not sound."""
    async with World() as world:
        for task in tasks:
            if faults := await faults_of(world, task):
                raise SystemExit("\n".join((f"{task.id} is not sound:", *faults)))


if __name__ == "__main__":
    main()
