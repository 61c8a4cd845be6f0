"""`practicum run`: one task, from its start to its verified end, in this terminal."""

from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.exits import FAILED, INTERRUPTED
from practicum.cli.inputs import labels_of
from practicum.cli.live import show_end, show_event
from practicum.cli.output import JsonOption, remark, say, show_json, show_json_line
from practicum.client import EpisodeHandle, Practicum
from practicum.client.call import build
from practicum.client.calls.episodes import EpisodeOptions
from practicum.contracts.episodes import EpisodeMode, EpisodeStatus, Limits


def run(
    task: Annotated[str, typer.Argument(help="What to do, in words.")],
    tools: Annotated[
        list[str] | None, typer.Option(help="Tools it may use: a pattern over `system.operation`; repeatable.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Alias of the model; needed if there are several.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="The most model turns.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens, prompts included.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.1, help="The longest it may take, people not counted.")] = None,
    training: Annotated[
        bool, typer.Option("--training", help="For training: only practice systems may be touched.")
    ] = False,
    fallback: Annotated[
        bool, typer.Option("--fallback", help="Have the alias's fallbacks answer where its model cannot.")
    ] = False,
    metadata: Annotated[list[str] | None, typer.Option(help="A label name=value, kept with it; repeatable.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: a repeated key returns the first episode.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Start it, print its id and return.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run an agent on a task and show its steps; ends with 0 only if the agent gave its final answer.

    With --json, each event is a line {"event": ...}, and the last line is {"episode": ...}.
    """
    given = {"steps": steps, "tokens": tokens, "seconds": seconds}
    options: EpisodeOptions = {
        "tools": tools or (),
        "limits": build(Limits, "limits", **{name: value for name, value in given.items() if value is not None}),
        "mode": EpisodeMode.TRAINING if training else EpisodeMode.LIVE,
        "metadata": labels_of(metadata or ()),
    }
    if fallback:
        options["fallback"] = True
    if key is not None:
        options["idempotency_key"] = key
    with connect() as client:
        handle = client.episodes.start(task, model=model or only_model(client), **options)
        if detach:
            _show_started(handle, as_json=as_json)
        else:
            raise typer.Exit(follow(handle, as_json=as_json))


def follow(handle: EpisodeHandle, *, as_json: bool) -> int:
    """Show an episode from its first event to its end.

    Args:
        handle: the episode.
        as_json: whether for a program.

    Returns:
        The exit status: 0 if the agent gave its final answer.
    """
    if not as_json:
        remark(f"episode {handle.id}")
    try:
        for event in handle.events():
            if as_json:
                show_json_line({"event": event.model_dump(mode="json")})
            else:
                show_event(event)
        handle.result()
    except KeyboardInterrupt:
        remark(f"\nEpisode {handle.id} goes on without you.\n  -> practicum episodes cancel {handle.id}")
        return INTERRUPTED
    episode = handle.get()
    if as_json:
        show_json_line({"episode": episode.model_dump(mode="json")})
    else:
        show_end(episode)
    return 0 if episode.status is EpisodeStatus.COMPLETED else FAILED


def only_model(client: Practicum) -> str:
    """The alias of the one model that the gateway knows.

    Raises:
        typer.BadParameter: it knows several, or none.
    """
    aliases = client.models.list()
    if len(aliases) == 1:
        return aliases[0]
    known = f"There are: {', '.join(aliases)}." if aliases else "None is registered: `practicum models add`."
    raise typer.BadParameter(f"Say which model is meant. {known}", param_hint="--model")


def _show_started(handle: EpisodeHandle, *, as_json: bool) -> None:
    if as_json:
        show_json(handle.get())
    else:
        say(handle.id)
