"""`practicum datasets`: recorded episodes as data to train on."""

from pathlib import Path
from typing import Annotated

import typer

from practicum.cli.connection import connect, state_folder
from practicum.cli.output import JsonOption, show_json
from practicum.cli.trajectories import show_manifest, whole_trajectories
from practicum.datasets import Format, build, parse_where
from practicum.datasets.where import FIELDS

app = typer.Typer(help="Build datasets from what was recorded.", no_args_is_help=True)


@app.command(
    "build",
    epilog=f"**Conditions:** {', '.join(f'`{field}`' for field in FIELDS)}; operators `=` `!=` and, for numbers, `<` "
    "`<=` `>` `>=`; several values have commas between them.\n\n"
    "**Example:** `practicum datasets build orders-1 --where 'suite=orders split=train reward>=1' --format sft`",
)
def build_one(
    name: Annotated[str, typer.Argument(help="The dataset's name.")],
    wanted: Annotated[
        Format,
        typer.Option(
            "--format", help="sft: tokens as sampled; chat: conversations; grpo: tasks to roll out, one row each."
        ),
    ],
    where: Annotated[str, typer.Option(help="Which episodes; all of the conditions must hold.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder; without it, datasets/NAME in this installation's.")] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Allow episodes of the held-out split.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a dataset: rows, a manifest that says what is in it and what was left out, and a card."""
    choice = parse_where(where)
    folder = out or state_folder() / "datasets" / name
    with connect() as client:
        manifest = build(
            name,
            whole_trajectories(client, choice.labels),
            folder,
            format=wanted,
            where=choice,
            held_out=held_out,
            overwrite=overwrite,
        )
    if as_json:
        show_json({"folder": str(folder), "manifest": manifest.model_dump(mode="json")})
    else:
        show_manifest(manifest, folder)
