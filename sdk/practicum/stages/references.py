"""Reference solutions as trajectories: each task's own solution, performed in practice systems and judged there."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

from practicum.codecs.codec import Codec, Piece
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import Cause, EpisodeMode, EpisodeResult, EpisodeStatus
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import ExampleSet, ModelCall, ModelSpec, Provider, Sampled, Sampling
from practicum.contracts.tasks import Task
from practicum.contracts.tools import Tool
from practicum.contracts.trajectory import Invocation, Reward, Trajectory
from practicum.episode.observations import told
from practicum.episode.offering import definition, offered
from practicum.errors import ConfigurationError
from practicum.stages.opening import opening
from practicum.tasks import Practice, Suite, score
from practicum.trajectories import uses

Spell: TypeAlias = Callable[[Sequence[Piece]], tuple[int, ...]]
"""The ids of rendered pieces, each tokenised on its own, only control pieces as control tokens."""

REFERENCE = "reference"
"""What a trajectory names as the model where a reference solution spoke."""


async def solve(suite: Suite, tasks: Sequence[Task], system: str | None) -> AsyncGenerator[Trajectory]:
    """Perform reference solutions, one after the other.

    A solution that its own verifier refuses is told as it is, with a reward of 0.

    Args:
        suite: judges, and gives the systems.
        tasks: those whose solutions to perform.
        system: system message before the tasks; None for the gateway's own.

    Raises:
        ConfigurationError: a task has no solution that ends with words.
        PracticumError: a system does not take what it is told.
    """
    async with suite.practice() as practice:
        for task in tasks:
            yield await _solved(suite, practice, task, system)


def spelled(trajectory: Trajectory, tools: Sequence[Tool], codec: Codec, spell: Spell) -> Trajectory:
    """A reference trajectory with the tokens that a model would have drawn to speak so.

    Nobody drew them: whoever follows the reference says each with certainty, so its log-probability is 0. The rows are
    made as those of any episode, and they qualify for supervised learning alone.

    Args:
        trajectory: what `solve` gave.
        tools: those of the practice systems.
        codec: how the model is spoken to.
        spell: makes tokens of rendered pieces.

    Raises:
        ConfigurationError: the systems offer other tools than when it was recorded.
    """
    found = {tool.name: tool for tool in tools}
    offering = tuple(tool for name in map(_name_of, trajectory.tools) if (tool := found.get(name)) is not None)
    if tuple(map(definition, offering)) != trajectory.tools:
        raise ConfigurationError(
            f"The practice systems offer other tools than when {trajectory.episode} was recorded.",
            mend="Record the reference solutions again, in another folder.",
        )
    calls = tuple(_spelled(call, offering, codec, spell) for call in trajectory.model_calls)
    record = trajectory.model_copy(update={"model_calls": calls})
    return record.model_copy(update={"uses": uses(record)})


def examples_of(trajectories: Sequence[Trajectory], shown: int, embedder: str | None = None) -> ExampleSet:
    """Solved tasks to show before others, those that are solved well: each from its task to its final answer.

    Args:
        trajectories: the solved ones are taken.
        shown: how many of the nearest are shown.
        embedder: the registered embedding model that finds them; None for their words.
    """
    solved = [trajectory for trajectory in trajectories if trajectory.reward is not None and trajectory.reward >= 1]
    episodes = tuple(
        tuple(message for message in trajectory.messages if message.role != "system") for trajectory in solved
    )
    return ExampleSet(episodes=episodes, shown=shown, embedder=embedder)


def _name_of(tool: JsonObject) -> str:
    function = tool.get("function")
    return str(function.get("name")) if isinstance(function, dict) else ""


async def _solved(suite: Suite, practice: Practice, task: Task, system: str | None) -> Trajectory:
    if task.conclusion is None:
        raise ConfigurationError(
            f"{task.id} has no reference solution that ends with words.", mend="Choose a suite whose tasks have one."
        )
    spec = ModelSpec(alias=REFERENCE, provider=Provider.LLAMA_CPP, target=REFERENCE, system=system)
    record = _Record(task, list(opening(task.prompt, spec)), offered(practice.tools, task.tools))
    await practice.load(task.start)
    for number, call in enumerate(task.reference, 1):
        made = ToolCall(id=f"call_{number}", name=call.tool, arguments=call.arguments)
        record.says(Message(role="assistant", tool_calls=(made,)))
        await record.calls(practice, made)
    record.says(Message(role="assistant", content=task.conclusion))
    result = EpisodeResult(
        status=EpisodeStatus.COMPLETED, cause=Cause.POLICY, answer=task.conclusion, steps=len(task.reference) + 1
    )
    verdict = score(suite, task, result, await practice.state())
    return record.trajectory(result, Reward(reward=verdict.reward, source=f"suite:{suite.name}"))


class _Record:
    """A conversation while it is performed."""

    def __init__(self, task: Task, messages: list[Message], tools: tuple[Tool, ...]) -> None:
        self._task, self._messages = task, messages
        self._tools = tuple(definition(tool) for tool in tools)
        self._turns: list[ModelCall] = []
        self._invocations: list[Invocation] = []
        self._name = f"{REFERENCE}/{task.id}"
        self._created = utc_now()

    def says(self, message: Message) -> None:
        step = len(self._turns)
        self._turns.append(
            ModelCall(
                id=f"{self._name}/{step}",
                step=step,
                model=REFERENCE,
                version=REFERENCE,
                messages=tuple(self._messages),
                tools=self._tools,
                sampling=Sampling(temperature=0.0),
                response=message,
                finish_reason="tool_calls" if message.tool_calls else "stop",
                parent=self._turns[-1].id if self._turns else None,
                started=utc_now(),
                seconds=0.0,
            )
        )
        self._messages.append(message)

    async def calls(self, practice: Practice, call: ToolCall) -> None:
        step, started = len(self._turns) - 1, utc_now()
        seen = await practice.call(call.name, call.arguments, key=f"{self._name}/{step}/0")
        self._messages.append(Message(role="tool", content=told(seen), tool_call_id=call.id))
        self._invocations.append(
            Invocation(
                key=f"{self._name}/{step}/0",
                step=step,
                call=0,
                tool=call.name,
                arguments=call.arguments,
                observation=seen,
                started=started,
                seconds=(utc_now() - started).total_seconds(),
            )
        )

    def trajectory(self, result: EpisodeResult, reward: Reward) -> Trajectory:
        task = self._task
        record = Trajectory(
            episode=self._name,
            task=task.prompt,
            model=REFERENCE,
            mode=EpisodeMode.TRAINING,
            messages=tuple(self._messages),
            tools=self._tools,
            model_calls=tuple(self._turns),
            invocations=tuple(self._invocations),
            result=result,
            rewards=(reward,),
            metadata={"suite": task.suite, "task": task.id, "split": task.split, "family": task.family},
            created=self._created,
            ended=utc_now(),
        )
        return record.model_copy(update={"uses": uses(record)})


def _spelled(call: ModelCall, tools: Sequence[Tool], codec: Codec, spell: Spell) -> ModelCall:
    said = spell(codec.turn(call.response, call.reasoning)) if call.response is not None else ()
    sampled = Sampled(
        prompt_ids=spell(codec.render(call.messages, tools)), completion_ids=said, logprobs=tuple(0.0 for _ in said)
    )
    return call.model_copy(update={"sampled": sampled, "template_hash": codec.template_hash})
