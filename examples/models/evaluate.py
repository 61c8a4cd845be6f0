"""Measures the local model: `python -m examples.models.evaluate --server URL [--adapter 1.0] --out FILE`.

Each task is tried once, greedily, through the real server, in the episode and dialect of production; the state
verifier decides. The result has every number with its count and its Wilson interval.
"""

import argparse
import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from examples.models.attempt import Attempt, attempt
from examples.models.local import specification
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import ExampleSet, ModelSpec
from practicum.contracts.tasks import Split, Task
from practicum.evaluation.estimators import mean_estimate
from practicum.tasks import Suite, load_suite
from practicum_gateway.models.llama_cpp import LlamaCppProvider

_LOG = logging.getLogger("evaluate")


def read_examples(path: Path, shown: int) -> ExampleSet:
    """Solved conversations from a file with one a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    episodes = tuple(tuple(Message.model_validate(message) for message in json.loads(line)) for line in lines)
    return ExampleSet(episodes=episodes, shown=shown)


async def evaluate(suite: Suite, spec: ModelSpec, tasks: Sequence[Task], parallel: int) -> list[Attempt]:
    """Every task tried once, some at the same time, each in systems of its own."""
    provider, waiting, done = LlamaCppProvider(), list(reversed(tasks)), list[Attempt]()

    async def work() -> None:
        async with suite.practice() as practice:
            while waiting:
                tried = await attempt(suite, practice, provider, spec, waiting.pop())
                done.append(tried)
                _LOG.info("%d/%d %s %s", len(done), len(tasks), tried.task.id, tried.verdict.reward)

    try:
        await asyncio.gather(*(work() for _ in range(parallel)))
    finally:
        await provider.aclose()
    order = {task.id: number for number, task in enumerate(tasks)}
    return sorted(done, key=lambda tried: order[tried.task.id])


def summary(attempts: Iterable[Attempt]) -> JsonObject:
    """Success in all and by family, each with its count and interval; attempts without a verdict are counted apart."""
    by_family: dict[str, list[float]] = defaultdict(list)
    unscored = 0
    for tried in attempts:
        if tried.verdict.reward is None:
            unscored += 1
        else:
            by_family[tried.task.family].append(tried.verdict.reward)
    families: JsonObject = {family: _estimated(rewards) for family, rewards in sorted(by_family.items())}
    everything = [reward for rewards in by_family.values() for reward in rewards]
    return {"all": _estimated(everything), "unscored": unscored, "families": families}


def _estimated(rewards: Sequence[float]) -> JsonObject:
    estimate = mean_estimate(rewards)
    return {name: round(value, 4) for name, value in estimate.model_dump(exclude_none=True).items()}


def main() -> None:
    """Read the command line, measure, and write the summary and every attempt."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    parser = argparse.ArgumentParser(prog="python -m examples.models.evaluate")
    parser.add_argument("--server", required=True, help="URL of a llama.cpp server")
    parser.add_argument("--adapter", type=float, default=0.0, help="scale of the server's adapter 0")
    parser.add_argument("--examples", type=Path, help="solved conversations to show the nearest of")
    parser.add_argument("--shown", type=int, default=1)
    parser.add_argument("--split", type=Split, default=Split.HELD_OUT)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    examples = read_examples(options.examples, options.shown) if options.examples else None
    spec = specification(options.server, options.adapter, examples)
    suite = load_suite("examples.tasks:SUITE")
    tasks = suite.tasks(options.split)[: options.count]
    attempts = asyncio.run(evaluate(suite, spec, tasks, options.parallel))
    tried = [
        {
            "task": one.task.id,
            "reward": one.verdict.reward,
            "differences": list(one.verdict.differences),
            "messages": [message.model_dump(mode="json", exclude_defaults=True) for message in one.messages],
        }
        for one in attempts
    ]
    result = {"split": options.split, "summary": summary(attempts), "attempts": tried}
    options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _LOG.info("%s", json.dumps(result["summary"], indent=1))


if __name__ == "__main__":
    main()
