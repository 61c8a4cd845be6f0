"""How many steps of episodes are written down in a second: 2,000 are promised.

    python -m benchmarks.recording [--episodes 64] [--steps 20] [--postgres URL] [--turns 3]

A step is a model turn with its tokens, begun, placed in the graph and accepted, and the tool call that it asked for,
settled. It is measured for an episode's own turns and for a foreign agent's chat calls, all episodes at once, through
the record alone: no model, no HTTP, no system, no ledger. SQLite lies in a temporary folder and waits for the disk as
it does in service; PostgreSQL is measured where a URL is given, in a database that must be empty. Shown are medians.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import Driver, EpisodeRequest
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, ModelCall, Sampled, Sampling, Usage
from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import NewEpisode
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.migrate import migrate

PROMISED = 2_000
OPENING = (
    Message(role="system", content="You look after orders. " * 20),
    Message(role="user", content="Refund order 1042 and tell the customer."),
)
TOOL: JsonObject = {"type": "function", "function": {"name": "erp_get_order", "parameters": {"type": "object"}}}
PROMPT, DRAWN, ADDED = 600, 40, 60
"""Tokens of the first prompt, of a turn, and of what is added between two turns."""

Walk = Callable[[Record, str, int], Awaitable[None]]


def turn(step: int) -> Message:
    """A turn that asks for one call."""
    wish = ToolCall(id=f"call_{step}", name="erp_get_order", arguments={"order_id": 1042, "step": step})
    return Message(role="assistant", tool_calls=(wish,))


def answer(step: int) -> Message:
    """What the tool said."""
    return Message(role="tool", content=f'{{"id":1042,"status":"shipped","step":{step}}}', tool_call_id=f"call_{step}")


def model_call(step: int, messages: tuple[Message, ...], ids: tuple[int, ...]) -> ModelCall:
    """A turn as it comes from a model that tells its tokens."""
    return ModelCall(
        id=new_id("mc"),
        step=step,
        standing=Attempt.ACCEPTED,
        model="scripted",
        version="scripted-1",
        messages=messages,
        tools=(TOOL,),
        sampling=Sampling(temperature=1.0, top_p=1.0),
        response=turn(step),
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=len(ids), completion_tokens=DRAWN),
        sampled=Sampled(prompt_ids=ids, completion_ids=tuple(range(step, step + DRAWN)), logprobs=(-0.25,) * DRAWN),
        started=utc_now(),
        seconds=0.5,
    )


def prompts(steps: int) -> list[tuple[int, ...]]:
    """The ids of each step's prompt: those of the step before, what it drew, and what was said since."""
    grown = [tuple(range(PROMPT))]
    for step in range(steps - 1):
        grown.append((*grown[-1], *range(step, step + DRAWN), *range(ADDED)))
    return grown


async def own_turns(record: Record, episode: str, steps: int) -> None:
    """An episode that its driver takes turn by turn."""
    for step, ids in enumerate(prompts(steps)):
        transcript = await record.transcripts.load(episode)
        _, before = await record.model_calls.begin_turn(episode, step, 1)
        call = model_call(step, transcript.messages, ids)
        standing = await record.model_calls.add_turn(episode, call, before, transcript.end)
        (line,) = await record.transcripts.step(episode, step)
        done = Observation(status=CallStatus.OK, content="shipped", http_status=200)
        await record.transcripts.settle(episode, line, 0, done, answer(step).content or "")
        if standing is not Attempt.ACCEPTED:
            raise RuntimeError(f"Step {step} of {episode} was not accepted.")


async def chat_calls(record: Record, episode: str, steps: int) -> None:
    """An episode of a foreign agent, which sends its whole conversation each time."""
    messages = OPENING
    for step, ids in enumerate(prompts(steps)):
        number, before = await record.model_calls.begin_chat(episode, messages)
        await record.model_calls.add_chat(episode, model_call(number, messages, ids), before)
        await record.episodes.next_call(episode)
        messages = (*messages, turn(step), answer(step))


async def begun(record: Record) -> str:
    """A new episode."""
    request = EpisodeRequest(task="Refund order 1042.", model="scripted", driver=Driver.CLIENT)
    episode = NewEpisode(
        id=new_id("ep"), request=request, principal="bench", model="m", version="m-1", tools=(), opening=OPENING
    )
    return (await record.episodes.begin(episode))[0].id


async def measured(url: str, walk: Walk, episodes: int, steps: int) -> tuple[float, float]:
    """Steps a second, of so many episodes at once, and the milliseconds of CPU that one took of this process."""
    store = Store(url)
    try:
        await migrate(store)
        record = Record(store)
        names = [await begun(record) for _ in range(episodes)]
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(walk(record, name, steps) for name in names))
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
        for name in names[:2]:
            calls = await record.model_calls.of_episode(name, (await record.transcripts.load(name)).messages)
            if [call.parent for call in calls] != [None, *(call.id for call in calls[:-1])]:
                raise RuntimeError(f"The graph of {name} is wrong.")
    finally:
        await store.close()
    return episodes * steps / seconds, 1000 * cpu / (episodes * steps)


def main() -> int:
    """Measure, and say whether the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--postgres", metavar="URL", help="postgresql+asyncpg://... of an empty database")
    options = parser.parse_args()
    best = 0.0
    for name, walk in (("own turns", own_turns), ("chat calls", chat_calls)):
        for kind in ("SQLite", *(("PostgreSQL",) if options.postgres else ())):
            found: list[tuple[float, float]] = []
            for _ in range(options.turns):
                with tempfile.TemporaryDirectory() as folder:
                    url = f"sqlite+aiosqlite:///{Path(folder) / 'gateway.sqlite3'}"
                    url = url if kind == "SQLite" else options.postgres
                    found.append(asyncio.run(measured(url, walk, options.episodes, options.steps)))
            rate, cpu = (statistics.median(each) for each in zip(*found, strict=True))
            best = max(best, rate)
            print(f"{name} on {kind}: {rate:.0f} steps/s, {cpu:.1f} ms of CPU each")
    print(f"promised: {PROMISED} steps/s; {'kept' if best >= PROMISED else 'missed'}")
    return 0 if best >= PROMISED else 1


if __name__ == "__main__":
    sys.exit(main())
