"""One attempt at a task by the local model: production's episode, dialect and server, over systems in this process."""

from dataclasses import dataclass, field

from practicum.agent import Agent
from practicum.contracts.base import utc_now
from practicum.contracts.episodes import (
    CallReceipt,
    CallReference,
    Driver,
    Episode,
    EpisodeMode,
    EpisodeResult,
    InvokeRequest,
    Limits,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec, Sampled
from practicum.contracts.tasks import Task, Verdict
from practicum.errors import EpisodeError
from practicum.tasks import Practice, Suite, score
from practicum_gateway.episodes.observations import told
from practicum_gateway.episodes.opening import opening
from practicum_gateway.episodes.refusals import refusal
from practicum_gateway.models.provider import ModelProvider, Prompt

LIMITS = Limits(steps=8, errors_in_a_row=2)


@dataclass
class PracticeDoor:
    """A gateway for one episode: it keeps the conversation, asks the model, and makes calls in the practice systems.

    Attributes:
        spec: the model.
        provider: who answers for it.
        practice: the systems, in the task's start state.
        messages: the conversation so far.
    """

    spec: ModelSpec
    provider: ModelProvider
    practice: Practice
    messages: list[Message]
    _sampled: Sampled | None = field(default=None, init=False)
    _covered: int = field(default=0, init=False)

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        """Have the model take the turn."""
        del episode
        completed = await self.provider.complete(
            Prompt(
                spec=self.spec,
                messages=tuple(self.messages),
                tools=self.practice.tools,
                sampling=self.spec.sampling,
                previous=self._sampled,
                covered=self._covered,
            )
        )
        self.messages.append(completed.message)
        self._sampled, self._covered = completed.sampled, len(self.messages)
        calls = tuple(
            CallReference(index=index, tool=call.name, malformed=call.malformed is not None)
            for index, call in enumerate(completed.message.tool_calls)
        )
        truncated = completed.finish_reason == "length"
        return TurnReceipt(step=request.step, calls=calls, usage=completed.usage, truncated=truncated)

    async def invoke(self, episode: str, request: InvokeRequest) -> CallReceipt:
        """Make one call of the last turn."""
        del episode
        turn = next(message for message in reversed(self.messages) if message.role == "assistant")
        call = turn.tool_calls[request.call]
        refused = refusal(call, request.call, self.practice.tools, LIMITS)
        seen = refused or await self.practice.call(call.name, call.arguments, key=f"{request.step}/{request.call}")
        self.messages.append(Message(role="tool", content=told(seen), tool_call_id=call.id))
        return CallReceipt(step=request.step, call=request.call, status=seen.status)

    async def close(self, episode: str, result: EpisodeResult) -> Episode:
        """The episode as it ended, with the answer that the gateway would find in the transcript."""
        last = self.messages[-1]
        answer = last.content if last.role == "assistant" and not last.tool_calls else None
        return Episode(
            id=episode,
            task=self.messages[-1].content or "",
            model=self.spec.alias,
            tools=(),
            limits=LIMITS,
            driver=Driver.CLIENT,
            mode=EpisodeMode.TRAINING,
            status=result.status,
            principal="evaluation",
            created=utc_now(),
            result=result.model_copy(update={"answer": answer}),
        )


@dataclass(frozen=True)
class Attempt:
    """An attempt and what the verifier found.

    Attributes:
        task: the task.
        messages: the conversation.
        result: how the episode ended.
        verdict: what the verifier found.
    """

    task: Task
    messages: tuple[Message, ...]
    result: EpisodeResult
    verdict: Verdict


async def attempt(suite: Suite, practice: Practice, provider: ModelProvider, spec: ModelSpec, task: Task) -> Attempt:
    """Let the model try a task once, and judge the state that it left and its answer."""
    await practice.load(task.start)
    door = PracticeDoor(spec, provider, practice, list(opening(task.prompt, spec)))
    episode = await Agent(door).run(task.id, LIMITS)
    if episode.result is None:
        raise EpisodeError(f"The attempt at {task.id} was closed without a result.")
    verdict = score(suite, task, episode.result, await practice.state())
    return Attempt(task, tuple(door.messages), episode.result, verdict)
