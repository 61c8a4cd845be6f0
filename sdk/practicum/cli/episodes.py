"""`practicum episodes`: the runs of agents."""

from typing import Annotated

import typer

from practicum.cli import approvals
from practicum.cli.approvals import ReasonOption, YesOption
from practicum.cli.connection import connect
from practicum.cli.inputs import labels_of
from practicum.cli.live import show_end, show_event
from practicum.cli.output import JsonOption, moment, say, short, show_fields, show_json, show_json_line, show_table
from practicum.cli.run import follow
from practicum.contracts.access import ApprovalStatus
from practicum.contracts.episodes import EpisodeStatus
from practicum.errors import NotFoundError

app = typer.Typer(help="Look at the runs of agents, answer them, end them.", no_args_is_help=True)

EpisodeArgument = Annotated[str, typer.Argument(metavar="EPISODE", help="Id of the episode.")]
WhichOption = Annotated[str | None, typer.Option("--approval", help="Which approval, if several are open.")]


@app.command("list")
def list_all(
    status: Annotated[EpisodeStatus | None, typer.Option(help="Only those that stand so.")] = None,
    metadata: Annotated[list[str] | None, typer.Option(help="Only with this label name=value; repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most to show.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List episodes, newest first."""
    with connect() as client:
        found = client.episodes.list(status=status, metadata=labels_of(metadata or ()), limit=limit)
    if as_json:
        show_json(found)
        return
    show_table(
        ("episode", "status", "reward", "model", "started", "task"),
        ((e.id, e.status, e.reward, e.model, moment(e.created), short(e.task, 70)) for e in found),
        empty="No episode was started yet.",
    )


@app.command()
def show(
    episode: EpisodeArgument,
    wait: Annotated[bool, typer.Option("--follow", help="Show it until it ends; the exit status tells how.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show an episode and what happened in it so far."""
    with connect() as client:
        handle = client.episodes.handle(episode)
        found = handle.get()
        if wait:
            raise typer.Exit(follow(handle, as_json=as_json))
        if as_json:
            show_json(found)
            return
        show_fields(
            (
                ("task", found.task),
                ("model", found.model),
                ("tools", " ".join(found.tools)),
                ("asked by", found.principal),
                ("started", moment(found.created)),
                ("ended", moment(found.ended)),
                ("reward", found.reward),
                *((f"  {name}", value) for name, value in found.metadata.items()),
            )
        )
        if found.status.ended:
            for event in handle.events():
                show_event(event)
            show_end(found)
        else:
            say(f"{found.status}; `practicum episodes show {episode} --follow` shows its steps", "yellow")


@app.command()
def events(
    episode: EpisodeArgument,
    after: Annotated[int, typer.Option(min=0, help="Only events past this sequence number.")] = 0,
) -> None:
    """Print an episode's events until it ends, one JSON object a line."""
    with connect() as client:
        for event in client.episodes.events(episode, after=after):
            show_json_line(event)


@app.command()
def approve(
    episode: EpisodeArgument,
    which: WhichOption = None,
    reason: ReasonOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say yes to the call that an episode waits with."""
    approvals.answer(_open(episode, which), approve=True, reason=reason, yes=yes, as_json=as_json)


@app.command()
def deny(
    episode: EpisodeArgument,
    which: WhichOption = None,
    reason: ReasonOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say no to the call that an episode waits with."""
    approvals.answer(_open(episode, which), approve=False, reason=reason, yes=yes, as_json=as_json)


@app.command()
def cancel(episode: EpisodeArgument, as_json: JsonOption = False) -> None:
    """End an episode before it is done; what it did already is not undone."""
    with connect() as client:
        cancelled = client.episodes.cancel(episode)
    if as_json:
        show_json(cancelled)
    else:
        say(f"Episode {episode} is {cancelled.status}.")


@app.command()
def reward(
    episode: EpisodeArgument,
    value: Annotated[
        str,
        typer.Argument(metavar="REWARD", help="A number, or 'none' if the agent could not have caused the failure."),
    ],
    source: Annotated[str, typer.Option(help="Which verifier or person gives it.")],
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how well the agent did; the latest word counts. It is kept with the trajectory."""
    with connect() as client:
        rewarded = client.episodes.reward(episode, _reward_of(value), source=source, reason=reason)
    if as_json:
        show_json(rewarded)
    else:
        say(f"The reward of {episode} is {'none' if rewarded.reward is None else rewarded.reward}.")


def _reward_of(value: str) -> float | None:
    if value.lower() == "none":
        return None
    try:
        return float(value)
    except ValueError:
        raise typer.BadParameter(f"{value!r} is no number, and not 'none'.", param_hint="REWARD") from None


def _open(episode: str, which: str | None) -> str:
    """The id of the one approval that an episode waits for."""
    with connect(as_approver=True) as client:
        waiting = [found.id for found in client.approvals.list(status=ApprovalStatus.PENDING, episode=episode)]
    if which is not None and which in waiting:
        return which
    if which is None and len(waiting) == 1:
        return waiting[0]
    if not waiting or which is not None:
        raise NotFoundError(
            f"Episode {episode} waits for no {'approval' if which is None else f'approval {which}'}.",
            mend=f"Look how it stands: `practicum episodes show {episode}`."
            if not episode.startswith("apr_")
            else f"This is an approval: `practicum approvals show {episode}`, and `approve` or `deny` there.",
        )
    raise typer.BadParameter(f"Episode {episode} waits for several: {', '.join(waiting)}.", param_hint="--approval")
