"""One attempt at a task while it goes on: the machine's state, the conversation, and its tokens."""

from collections.abc import Sequence
from datetime import datetime

from practicum.codecs.codec import Turn, ended_by
from practicum.contracts.base import utc_now
from practicum.contracts.episodes import (
    CallReceipt,
    CallReference,
    Cause,
    EpisodeMode,
    EpisodeResult,
    EpisodeStatus,
    Limits,
    TurnReceipt,
)
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelCall, ModelSpec, Provider, Sampled, Sampling, Usage
from practicum.contracts.tasks import Task, Verdict
from practicum.contracts.tools import Observation, Tool
from practicum.contracts.trajectory import Invocation, Reward, Trajectory
from practicum.episode import (
    Action,
    CallReturned,
    EpisodeState,
    Event,
    Finish,
    Invoke,
    StepFailed,
    TurnTaken,
    apply,
    next_action,
)
from practicum.episode.observations import told
from practicum.episode.offering import definition, offered
from practicum.episode.refusals import refusal
from practicum.stages.opening import opening
from practicum.stages.practices import Lost, SeatCall
from practicum.stages.sampler import Drawn, Sampler
from practicum.trajectories import uses

POLICY = "policy"
"""Alias under which a policy in training appears in a trajectory."""


class Attempt:
    """An episode of which this process holds everything."""

    def __init__(
        self, task: Task, name: str, sampler: Sampler, tools: Sequence[Tool], *, limits: Limits, system: str | None
    ) -> None:
        """Begin.

        Args:
            task: what is asked.
            name: the episode's id.
            sampler: the policy, here only as the one who tokenises and reads.
            tools: what the systems offer; the task says which of them may be used.
            limits: what the episode may spend.
            system: system message; None for the gateway's own.
        """
        spec = ModelSpec(alias=POLICY, provider=Provider.LLAMA_CPP, target=sampler.version, system=system)
        self.task = task
        self.name = name
        self.lost = False
        self._sampler = sampler
        self._codec = sampler.codec
        self._tools = offered(tools, task.tools)
        self._definitions = tuple(definition(tool) for tool in self._tools)
        self._limits = limits
        self._state = EpisodeState.begin(limits)
        self._messages: list[Message] = list(opening(task.prompt, spec))
        self._told: list[Message] = []
        self._calls: list[ModelCall] = []
        self._invocations: list[Invocation] = []
        self._created = utc_now()
        self._called_at = self._created
        self.prompt = sampler.tokenise(self._codec.render(self._messages, self._tools))

    @property
    def due(self) -> Action:
        """What has to be done now."""
        return next_action(self._state)

    def has_room(self) -> bool:
        """Whether the context holds another turn; an episode that fills it ends there, by its own doing."""
        if len(self.prompt) < self._sampler.context:
            return True
        self._apply(StepFailed(Cause.BUDGET, f"The context of {self._sampler.context} tokens is full."))
        return False

    def take(self, drawn: Drawn, began: datetime, seconds: float) -> None:
        """The model's turn.

        Args:
            drawn: its tokens.
            began: when it was asked.
            seconds: its share of the time that the batch took.
        """
        if not drawn.ids or len(drawn.ids) != len(drawn.logprobs):
            raise RuntimeError(f"{len(drawn.ids)} tokens were drawn with {len(drawn.logprobs)} logprobs.")
        said = self._codec.parse(self._sampler.text(drawn.ids), self._tools, len(self._invocations))
        message = said.message
        usage = Usage(prompt_tokens=len(self.prompt), completion_tokens=len(drawn.ids))
        step = len(self._calls)
        self._calls.append(self._recorded(said, drawn, usage, began=began, seconds=seconds))
        self._messages.append(message)
        self._told = []
        calls = tuple(
            CallReference(index=index, tool=call.name, malformed=call.malformed is not None)
            for index, call in enumerate(message.tool_calls)
        )
        self._apply(TurnTaken(TurnReceipt(step=step, calls=calls, usage=usage, truncated=not drawn.closed)))

    def wish(self, due: Invoke) -> SeatCall | Observation:
        """The call to make in the systems, or what is answered to one that cannot be made."""
        self._called_at = utc_now()
        call = self._messages_turn().tool_calls[due.call]
        refused = refusal(call, due.call, self._tools, self._limits)
        if refused is not None:
            return refused
        tool = next(tool for tool in self._tools if call.name in (tool.name, tool.address))
        return SeatCall(tool.name, call.arguments, self._key(due))

    def hear(self, due: Invoke, observed: Observation | Lost) -> None:
        """What came of a call."""
        if isinstance(observed, Lost):
            self.lose(observed)
            return
        if not observed.status.settled:
            self._apply(StepFailed(Cause.PERSON, "A call waits for a person, and nobody is there in practice."))
            return
        call = self._messages_turn().tool_calls[due.call]
        heard = Message(role="tool", content=told(observed), tool_call_id=call.id)
        self._told.append(heard)
        self._invocations.append(
            Invocation(
                key=self._key(due),
                step=due.step,
                call=due.call,
                tool=call.name,
                arguments=call.arguments,
                observation=observed,
                started=self._called_at,
                seconds=(utc_now() - self._called_at).total_seconds(),
            )
        )
        receipt = CallReceipt(step=due.step, call=due.call, status=observed.status)
        self._apply(CallReturned(receipt, due.heard))
        if not isinstance(self.due, Invoke):
            self._close_step()

    def lose(self, lost: Lost) -> None:
        """The systems failed: the episode ends, and not by the policy's doing."""
        self.lost = True
        self._apply(StepFailed(Cause.INFRASTRUCTURE, lost.reason))

    def result(self) -> EpisodeResult:
        """How it ended; only once nothing more is due."""
        ended = self.due
        if not isinstance(ended, Finish):
            raise RuntimeError(f"The attempt {self.name} goes on: {ended}.")  # noqa: TRY004  a state, not a type
        answered = ended.result.status is EpisodeStatus.COMPLETED
        return ended.result.model_copy(update={"answer": self._messages_turn().content if answered else None})

    def trajectory(self, result: EpisodeResult, verdict: Verdict) -> Trajectory:
        """The record, as the gateway would have written it."""
        reason = "; ".join(verdict.differences) or None
        record = Trajectory(
            episode=self.name,
            task=self.task.prompt,
            model=POLICY,
            mode=EpisodeMode.TRAINING,
            messages=tuple(self._messages),
            tools=self._definitions,
            model_calls=tuple(self._calls),
            invocations=tuple(self._invocations),
            result=result,
            rewards=(Reward(reward=verdict.reward, source=f"suite:{self.task.suite}", reason=reason),),
            metadata={
                "suite": self.task.suite,
                "task": self.task.id,
                "split": self.task.split,
                "family": self.task.family,
            },
            created=self._created,
            ended=utc_now(),
        )
        return record.model_copy(update={"uses": uses(record)})

    def _apply(self, event: Event) -> None:
        self._state = apply(self._state, event)

    def _close_step(self) -> None:
        """All calls of the turn are answered: their answers join the conversation and the prompt."""
        last = self._calls[-1].sampled
        if last is None:
            raise RuntimeError("A turn was recorded without its tokens.")
        ended = ended_by(self._codec, last.completion_ids[-1], self._sampler.tokenise)
        added = self._sampler.tokenise(self._codec.suffix(self._messages_turn(), self._told, ended=ended))
        self._messages += self._told
        self.prompt = (*last.prompt_ids, *last.completion_ids, *added)

    def _messages_turn(self) -> Message:
        return next(message for message in reversed(self._messages) if message.role == "assistant")

    def _key(self, due: Invoke) -> str:
        return f"{self.name}/{due.step}/{due.call}"

    def _recorded(self, said: Turn, drawn: Drawn, usage: Usage, *, began: datetime, seconds: float) -> ModelCall:
        whole = "tool_calls" if said.message.tool_calls else "stop"
        return ModelCall(
            id=f"{self.name}/{len(self._calls)}",
            step=len(self._calls),
            model=POLICY,
            version=self._sampler.version,
            messages=tuple(self._messages),
            tools=self._definitions,
            sampling=Sampling(temperature=self._sampler.temperature, top_p=1.0),
            response=said.message,
            reasoning=said.thought,
            finish_reason=whole if drawn.closed else "length",
            usage=usage,
            sampled=Sampled(prompt_ids=self.prompt, completion_ids=drawn.ids, logprobs=drawn.logprobs),
            template_hash=self._codec.template_hash,
            parent=self._calls[-1].id if self._calls else None,
            started=began,
            seconds=seconds,
        )
