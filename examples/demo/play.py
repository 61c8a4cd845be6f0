"""One task of the demo: an episode from its start state to the verdict on what it left behind."""

from dataclasses import dataclass

import httpx

from examples.demo.screen import Screen
from examples.demo.systems import Systems
from examples.tasks import SUITE
from practicum.client import Practicum
from practicum.contracts.episodes import Cause, EpisodeEvent, EpisodeResult, Limits
from practicum.contracts.tasks import States, Task, Verdict

LIMITS = Limits(steps=10, errors_in_a_row=3, seconds=180)
_NOT_THE_MODELS_FAULT = (Cause.SYSTEM, Cause.INFRASTRUCTURE, Cause.PERSON)


@dataclass(frozen=True)
class Played:
    """What came of a task.

    Attributes:
        task: what was asked.
        episode: id of the episode.
        result: how it ended.
        verdict: what its verifier found in the systems.
        approvals: how many of its calls a person was asked about.
    """

    task: Task
    episode: str
    result: EpisodeResult
    verdict: Verdict
    approvals: int

    @property
    def right(self) -> bool:
        """Whether the systems are left exactly as they should be."""
        return self.verdict.reward == 1


@dataclass(frozen=True)
class Player:
    """Plays tasks on the running systems.

    Attributes:
        client: starts episodes and gives verdicts.
        approver: another person's client, who answers when an access rule asks.
        systems: where the tasks' start states go, and the outcomes are read.
        screen: shows the steps.
        model: alias of the model.
    """

    client: Practicum
    approver: Practicum
    systems: Systems
    screen: Screen
    model: str

    def play(self, task: Task) -> Played:
        """Set the scene, run the episode, look at what it left behind, and record the verdict with it.

        Raises:
            PracticumError: the gateway refused or is gone.
            httpx.HTTPError: a system cannot be set to the start state.
        """
        self.systems.load(task.start)
        before = self.systems.state()
        handle = self.client.episodes.start(
            task.prompt,
            model=self.model,
            tools=task.tools,
            limits=LIMITS,
            metadata={"suite": task.suite, "task": task.id, "family": task.family, "split": task.split},
        )
        approvals = 0
        for event in handle.events():
            self.screen.event(event)
            if event.type == "approval.requested":
                approvals += 1
                self._approve(event)
        result = handle.result()
        verdict = self._judge(task, before, result)
        self.client.episodes.reward(
            handle.id, verdict.reward, source="state-verifier", reason="; ".join(verdict.differences) or None
        )
        return Played(task, handle.id, result, verdict, approvals)

    def _approve(self, event: EpisodeEvent) -> None:
        """Play the person who is asked; in earnest somebody would look at the call here."""
        asked = self.approver.approvals.get(str(event.data["approval"]))
        self.screen.line(
            f"  person  the demo, with the approver's key, says yes to {asked.tool} {asked.arguments}", "yellow"
        )
        self.approver.approvals.approve(asked, reason="the demo approves every refund that it planned")

    def _judge(self, task: Task, before: States, result: EpisodeResult) -> Verdict:
        if result.cause in _NOT_THE_MODELS_FAULT:
            # Not the model's doing, so no number: a 0 here would be taken for a lesson.
            return Verdict(reward=None, differences=(result.reason or f"ended by {result.cause}",))
        try:
            after = self.systems.state()
        except httpx.HTTPError:
            after = None
        return SUITE.verify(task, before, after, result.answer)
