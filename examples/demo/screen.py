"""What the demo shows: each step as it happens, then what came of it."""

import json
from collections.abc import Mapping

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from practicum.contracts.episodes import EpisodeEvent, EpisodeResult
from practicum.contracts.tasks import Verdict

_WIDEST = 160


class Screen:
    """Writes the demo's story to a terminal, or to a log that reads just as well."""

    def __init__(self, console: Console) -> None:
        """Take the console to write to.

        Args:
            console: standard output, or standard error where standard output is for programs.
        """
        self._console = console

    def heading(self, text: str) -> None:
        """A new chapter."""
        self._console.print()
        self._console.print(Text(text, style="bold"), soft_wrap=True)

    def line(self, text: str, style: str = "") -> None:
        """One line."""
        self._console.print(Text(text, style=style), soft_wrap=True)

    def event(self, event: EpisodeEvent) -> None:
        """One thing that happened in an episode."""
        match event.type:
            case "turn.finished":
                self._turn(event.data)
            case "turn.failed":
                self.line(f"  model   {_short(event.data.get('error'))}", "red")
            case "call.finished":
                self._outcome(event.data)
            case "approval.requested":
                self.line("  asks    an access rule wants a person's yes for this call", "yellow")
            case "approval.decided":
                answer = "approved" if event.data.get("approve") else "denied"
                self.line(f"  {answer} by {_short(event.data.get('decided_by'))}", "yellow")
            case _:
                return

    def outcome(self, verdict: Verdict, result: EpisodeResult) -> None:
        """What the verifier found in the systems."""
        if result.reason:
            self.line(f"  ended   {result.status}: {_short(result.reason)}", "red")
        if verdict.reward == 1:
            self.line("  verified: the systems hold the expected change and nothing else", "bold green")
        for difference in verdict.differences:
            self.line(f"  verified: {difference}", "bold red")

    def _turn(self, data: Mapping[str, JsonValue]) -> None:
        message = data.get("message")
        if not isinstance(message, dict):
            return
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                self.line(f"  call    {call.get('name')} {_short(call.get('arguments'))}", "cyan")
        if message.get("content"):
            self.line(f"  says    {_short(message['content'])}", "green")

    def _outcome(self, data: Mapping[str, JsonValue]) -> None:
        observation = data.get("observation")
        told = observation if isinstance(observation, dict) else data
        status = told.get("status")
        self.line(f"  {_short(status):<8}{_short(told.get('content'))}", "dim" if status == "ok" else "red")


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
