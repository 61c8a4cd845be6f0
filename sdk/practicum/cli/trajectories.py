"""`practicum trajectories`: what was recorded, and files to train on."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.exits import FAILED
from practicum.cli.inputs import labels_of
from practicum.cli.output import JsonOption, moment, say, short, show_fields, show_json, show_table
from practicum.cli.trajectory_views import show_explanation, show_replay
from practicum.client import Practicum
from practicum.contracts.base import JsonObject
from practicum.contracts.models import Provider
from practicum.contracts.trajectory import Trajectory, Use
from practicum.trajectories import Form, Manifest, ServerTokeniser, export
from practicum.trajectories import explain as explain_trajectory
from practicum.trajectories import replay as replay_trajectory
from practicum.trajectories.replay import Tokenise

app = typer.Typer(help="Look at what was recorded and export it for training.", no_args_is_help=True)

MetadataOption = Annotated[list[str] | None, typer.Option(help="Only with this label name=value; repeatable.")]


@app.command("list")
def list_all(
    metadata: MetadataOption = None,
    limit: Annotated[int, typer.Option(min=1, help="The most to show.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List trajectories, newest first, and what each is good for."""
    with connect() as client:
        found = client.trajectories.list(metadata=labels_of(metadata or ()), limit=limit)
    if as_json:
        show_json(found)
        return
    show_table(
        ("episode", "reward", "good for", "steps", "model", "began", "task"),
        (
            (
                each.episode,
                each.reward,
                " ".join(use.use for use in each.uses if use.eligible),
                None if each.result is None else each.result.steps,
                each.model,
                moment(each.created),
                short(each.task, 60),
            )
            for each in found
        ),
        empty="Nothing is recorded yet.",
    )


@app.command()
def show(
    episode: Annotated[str, typer.Argument(help="Id of the episode.")],
    as_json: JsonOption = False,
) -> None:
    """Show the record of an episode and what it is good for; --json prints all of it."""
    with connect() as client:
        found = client.trajectories.get(episode)
    if as_json:
        show_json(found)
    else:
        _show(found)


@app.command()
def explain(
    episode: Annotated[str, typer.Argument(help="Id of the episode.")],
    as_json: JsonOption = False,
) -> None:
    """Say what an episode can be trained with, why not with the rest, and how its model calls hang together."""
    with connect() as client:
        explained = explain_trajectory(client.trajectories.get(episode))
    if as_json:
        show_json(explained)
    else:
        show_explanation(explained)


@app.command()
def replay(
    episode: Annotated[str, typer.Argument(help="Id of the episode.")],
    server: Annotated[
        str | None, typer.Option(help="URL of the llama.cpp server that tokenises; the model's own when absent.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the request of every model call again from the record, and say what would be sent otherwise now.

    No model is asked. A llama.cpp server that can be reached is asked for the tokens of the prompts.
    """
    with connect() as client:
        recorded = client.trajectories.get(episode)
        replayed = replay_trajectory(recorded, tokenisers=_tokenisers(client, recorded, server))
    if as_json:
        show_json(replayed)
    else:
        show_replay(replayed)
    if not replayed.same:
        raise typer.Exit(FAILED)


def _tokenisers(client: Practicum, recorded: Trajectory, server: str | None) -> dict[str, Tokenise]:
    """How the servers of the models of an episode tokenise, by the models' versions."""
    versions = {
        call.version
        for call in recorded.model_calls
        if call.sent is not None and call.sent.provider is Provider.LLAMA_CPP
    }
    if not versions:
        return {}
    if server is not None:
        asked = ServerTokeniser(server)
        return dict.fromkeys(versions, asked)
    known = {version.version: version.base_url for version in client.models.versions(recorded.model)}
    return {version: ServerTokeniser(url) for version in versions if (url := known.get(version)) is not None}


@app.command(
    "export",
    epilog="**Examples:**\n\n"
    "`practicum trajectories export train --metadata suite=orders --metadata split=train --min-reward 1`\n\n"
    "`practicum trajectories export rl-data --form tokens --use rl`",
)
def export_all(
    folder: Annotated[Path, typer.Argument(help="Where to; it must not exist yet.")],
    form: Annotated[
        list[Form] | None,
        typer.Option(
            help="chat (the default): as OpenAI takes it; messages: tools as text; tokens: as sampled. Repeatable."
        ),
    ] = None,
    use: Annotated[Use, typer.Option(help="What for; only what qualifies is written.")] = Use.SFT,
    metadata: MetadataOption = None,
    min_reward: Annotated[float | None, typer.Option(help="Only those whose latest reward is at least this.")] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Episodes of the held-out split too.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Look at this many, newest first.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an export that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write trajectories as training files with a manifest that says what is in them and what was left out."""
    labels = labels_of(metadata or ())
    query: JsonObject = {"metadata": {**labels}, "limit": limit}
    with connect() as client:
        manifest = export(
            islice(whole_trajectories(client, labels), limit),
            folder,
            forms=form or (Form.CHAT,),
            use=use,
            min_reward=min_reward,
            held_out=held_out,
            query=query,
            overwrite=overwrite,
        )
    if as_json:
        show_json(manifest)
    else:
        show_manifest(manifest, folder)


def whole_trajectories(client: Practicum, labels: Mapping[str, str]) -> Iterator[Trajectory]:
    """Trajectories with these labels and all they hold; a listing may leave out the conversation."""
    for found in client.trajectories.iterate(metadata=labels):
        yield found if found.messages else client.trajectories.get(found.episode)


def _show(found: Trajectory) -> None:
    show_fields(
        (
            ("task", found.task),
            ("model", found.model),
            ("began", moment(found.created)),
            ("ended", moment(found.ended)),
            ("result", None if found.result is None else f"{found.result.status} ({found.result.cause})"),
            *(
                ("reward", f"{reward.reward} from {reward.source}{f': {reward.reason}' if reward.reason else ''}")
                for reward in found.rewards
            ),
            *(
                ("good for", use.use) if use.eligible else ("not for", f"{use.use}: {'; '.join(use.reasons)}")
                for use in found.uses
            ),
            *((f"  {name}", value) for name, value in found.metadata.items()),
        )
    )
    for message in found.messages:
        for call in message.tool_calls:
            say(f"{message.role}: calls {call.name} {short(call.malformed or call.arguments, 400)}", "cyan")
        if message.content:
            say(f"{message.role}: {short(message.content, 400)}", "dim" if message.role in ("system", "tool") else "")


def show_manifest(manifest: Manifest, folder: Path) -> None:
    """What was written, for people."""
    for file in manifest.files:
        tokens = "" if file.tokens is None else f", {file.trainable_tokens} of {file.tokens} tokens trainable"
        say(f"{folder / file.name}: {file.rows} rows of {len(file.episodes)} episodes{tokens}")
    if unknown := sum(len(calls) for calls in manifest.quarantined.values()):
        say(f"{unknown} model calls are in no row of tokens: which calls they continue is not known.", "yellow")
    left_out = {exclusion.episode for exclusion in manifest.excluded}
    met = left_out.union(*(file.episodes for file in manifest.files))
    skipped = f", {manifest.seen - len(met)} not chosen" if manifest.unmatched else ""
    seen = f"{manifest.seen} episodes seen{skipped}, {len(left_out)} left out of a file"
    say(f"{seen}; {folder / 'manifest.json'} says why.", "dim")
