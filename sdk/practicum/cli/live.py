"""Shows an episode's events as lines, as they happen."""

from collections.abc import Mapping

from pydantic import JsonValue

from practicum.cli.output import say, short
from practicum.contracts.episodes import Episode, EpisodeEvent, EpisodeStatus

_WIDTH = 160
_STYLES = {EpisodeStatus.COMPLETED: "bold green", EpisodeStatus.CANCELLED: "yellow"}


def show_event(event: EpisodeEvent) -> None:
    """One thing that happened; what repeats or only announces another event is left out."""
    match event.type:
        case "turn.finished":
            _turn(event)
        case "turn.failed":
            say(f"{_step(event)} model failed: {short(event.data.get('error'), _WIDTH)}", "red")
        case "call.finished":
            _outcome(event)
        case "approval.requested":
            _asked(event)
        case "approval.decided":
            decided = "approved" if event.data.get("approve") else "denied"
            say(f"    {decided} by {short(event.data.get('decided_by'))}", "yellow")
        case _:
            pass


def show_end(episode: Episode) -> None:
    """How an episode ended."""
    result = episode.result
    tokens = 0 if result is None else result.usage.prompt_tokens + result.usage.completion_tokens
    steps = 0 if result is None else result.steps
    reason = "" if result is None or not result.reason else f": {result.reason}"
    style = _STYLES.get(episode.status, "bold red")
    say(f"{episode.status}{reason} ({steps} steps, {tokens} tokens, {episode.id})", style)
    if result is not None and result.answer:
        say(result.answer)


def _step(event: EpisodeEvent) -> str:
    return "  -" if event.step is None else f"{event.step + 1:>3}"


def _turn(event: EpisodeEvent) -> None:
    message = _mapping(event.data.get("message"))
    calls = message.get("tool_calls")
    if message.get("content"):
        say(f"{_step(event)} says  {short(message['content'], _WIDTH)}", "green")
    for asked in calls if isinstance(calls, list) else []:
        call = _mapping(asked)
        shown = call.get("malformed") or call.get("arguments") or {}
        say(f"{_step(event)} calls {short(call.get('name'))} {short(shown, _WIDTH)}", "cyan")


def _outcome(event: EpisodeEvent) -> None:
    observation = _mapping(event.data.get("observation"))
    status = observation.get("status")
    told = f"    {short(status)}: {short(observation.get('content'), _WIDTH)}"
    say(told, "dim" if status == "ok" else "red")


def _asked(event: EpisodeEvent) -> None:
    approval = short(event.data.get("approval"))
    say(f"    waits for approval of {short(event.data.get('tool'))} {short(event.data.get('arguments'))}", "yellow")
    say(f"    -> practicum approvals approve {approval}", "yellow")


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}
