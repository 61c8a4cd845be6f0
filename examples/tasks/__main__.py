"""Writes the suite `orders`: `python -m examples.tasks --out DIR` makes `train.jsonl` and `held_out.jsonl`."""

import argparse
import sys
from pathlib import Path

from examples.tasks.generate import generate
from practicum.contracts.tasks import Split
from practicum.tasks import digest, write_tasks


def main() -> None:
    """Read the command line and write both files."""
    parser = argparse.ArgumentParser(prog="python -m examples.tasks", description="Write the suite 'orders'.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to, made when missing")
    parser.add_argument("--count", type=int, default=200, help="tasks in each split")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other tasks from the same words")
    options = parser.parse_args()
    for split in Split:
        tasks = generate(split, options.count, options.seed)
        path = options.out / f"{split}.jsonl"
        write_tasks(path, tasks)
        sys.stdout.write(f"{path}: {len(tasks)} tasks, sha256 {digest(tasks)}\n")


if __name__ == "__main__":
    main()
