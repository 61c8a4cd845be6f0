"""`practicum models split`, `fallbacks` and `check`: whom an alias has answer, and what they can do."""

from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.exits import FAILED
from practicum.cli.output import JsonOption, moment, say, show_json, show_table
from practicum.cli.versions import AliasArgument
from practicum.evaluation import estimate_text, gap_text, split_report

_ABLE = {True: "yes", False: "no", None: "?"}


def commands(app: typer.Typer) -> None:
    """Give `practicum models` its commands about who answers.

    Args:
        app: the commands about models.
    """
    app.command(
        epilog="**Examples:**\n\n`practicum models split support v6=90 v7=10`\n\n"
        "`practicum models split support --show`\n\n"
        "`promote` ends it, with either version; `rollback` brings back what stood before."
    )(split)
    app.command(
        epilog="**Examples:**\n\n`practicum models fallbacks support spare support@v5`\n\n"
        "`practicum models fallbacks support --none`"
    )(fallbacks)
    app.command(epilog="**Example:** `practicum models check support@v7`")(check)


def split(
    alias: AliasArgument,
    weights: Annotated[list[str] | None, typer.Argument(help="VERSION=WEIGHT, at least twice.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show how the sides do, and split nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Have several versions answer, by weight: an episode draws one and keeps it, a user of chat calls too."""
    if bool(weights) == show:
        raise typer.BadParameter("Give each version its weight, or --show.", param_hint="WEIGHTS")
    if show:
        _show_sides(alias, as_json=as_json)
        return
    weights = weights or []
    shares = dict(map(_share, weights))
    if len(shares) < len(weights):
        raise typer.BadParameter("A version stands there twice.", param_hint="WEIGHTS")
    with connect() as client:
        done = client.models.split(alias, shares)
    if as_json:
        show_json(done)
    else:
        total = sum(done.split.values())
        shown = ", ".join(f"{version} {weight / total:.1%}" for version, weight in done.split.items())
        say(f"'{alias}' is split: {shown}. What runs keeps its version.")


def fallbacks(
    alias: AliasArgument,
    models: Annotated[list[str] | None, typer.Argument(help="ALIAS or ALIAS@VERSION, in their order.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Fall back on nobody.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say who is asked where the model behind an alias cannot answer."""
    if bool(models) == none:
        raise typer.BadParameter("Name the models to fall back on, or --none.", param_hint="MODELS")
    with connect() as client:
        info = client.models.fallbacks(alias, models or ())
    if as_json:
        show_json(info)
    elif info.fallbacks:
        say(f"Where '{alias}' cannot answer, {', then '.join(info.fallbacks)} is asked.")
    else:
        say(f"'{alias}' falls back on nobody.")


def check(
    model: Annotated[str, typer.Argument(help="ALIAS, or ALIAS@VERSION.")],
    as_json: JsonOption = False,
) -> None:
    """Ask a model three tiny things, at most 96 tokens, and show what it can do; ends with 1 if it does not answer."""
    with connect() as client:
        found = client.models.check(model)
    if as_json:
        show_json(found)
    else:
        show_table(
            ("capability", "able", "what that means"),
            ((each.capability, _ABLE[each.able], each.said) for each in found.findings),
            empty="Nothing was tried.",
        )
    if not found.healthy:
        raise typer.Exit(FAILED)


def _show_sides(alias: str, *, as_json: bool) -> None:
    """How the versions of an alias do by the rewards of their live episodes, since it was split."""
    with connect() as client:
        done = client.models.promotions(alias)[0]
        outcomes = client.models.outcomes(alias, since=done.at if done.split else None)
    report = split_report(done, outcomes)
    if as_json:
        show_json(report)
        return
    say(f"Split since {moment(report.since)}." if report.since else "It is not split: these are all its live episodes.")
    show_table(
        ("version", "weight", "success", "mean reward", "unscored", "running"),
        (
            (
                side.version,
                report.split.get(side.version),
                estimate_text(side.success),
                "beyond 0 to 1" if side.reward is None else estimate_text(side.reward),
                side.unscored,
                side.running,
            )
            for side in report.sides
        ),
        empty="No episode began since.",
    )
    for gap in report.gaps:
        say(gap_text(gap))


def _share(text: str) -> tuple[str, int]:
    version, _, weight = text.rpartition("=")
    if not version or not weight.isdecimal():
        raise typer.BadParameter(f"'{text}' is not VERSION=WEIGHT with a whole number.", param_hint="WEIGHTS")
    return version, int(weight)
