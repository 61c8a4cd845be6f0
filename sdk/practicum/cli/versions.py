"""`practicum models register`, `versions`, `promote`, `rollback`, `promotions`: what an alias names, and why."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.inputs import object_of, text_of
from practicum.cli.output import JsonOption, moment, remark, say, show_json, show_table
from practicum.cli.services.bundles import SAMPLING, register_bundle
from practicum.cli.services.commands import DEFAULT_STATE, StateOption
from practicum.cli.services.signals import interruptible
from practicum.cli.services.state import StateDirectory
from practicum.client.call import build
from practicum.contracts.checks import ModelCheck
from practicum.contracts.models import ModelVersion, Sampling, reference
from practicum.contracts.promotion import Promotion
from practicum.evaluation import comparison_text, read_report

AliasArgument = Annotated[str, typer.Argument(help="The alias.")]


def commands(app: typer.Typer) -> None:
    """Give `practicum models` its commands about versions.

    Args:
        app: the commands about models.
    """
    app.command(epilog="**Example:** `practicum models register local runs/sft`")(register)
    app.command()(versions)
    app.command(
        epilog="**Examples:**\n\n"
        "`practicum models promote local sft-3f2a9c1e77d0 --evaluation evals/sft --against evals/now`\n\n"
        "`practicum models promote local sft-3f2a9c1e77d0 --override 'the old one is not served any more'`"
    )(promote)
    app.command()(rollback)
    app.command()(promotions)


def register(
    alias: AliasArgument,
    bundle: Annotated[Path, typer.Argument(help="Folder of a bundle, as training left it.")],
    version: Annotated[
        str | None, typer.Option("--version", help="What records shall call it; its stage and hash when absent.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Default temperature.")] = (
        SAMPLING.temperature
    ),
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of one turn.")] = SAMPLING.max_tokens,
    spec: Annotated[Path | None, typer.Option(help="JSON file with further fields, such as examples.")] = None,
    state_dir: StateOption = DEFAULT_STATE,
    as_json: JsonOption = False,
) -> None:
    """Serve a trained adapter here, and register it as a candidate; the alias goes on naming what it names.

    The local model server is started anew with the adapter; the candidate is asked for as ALIAS@VERSION.
    """
    sampling = build(Sampling, "sampling", temperature=temperature, max_tokens=max_tokens)
    fields = None if spec is None else object_of(text_of(str(spec)), str(spec))
    with interruptible():
        found = register_bundle(
            StateDirectory(state_dir),
            alias,
            bundle,
            version=version,
            sampling=sampling,
            fields=fields,
            report=remark,
        )
    if as_json:
        show_json(found)
    elif found.current:
        say(f"'{alias}' names {found.version}.")
    else:
        say(f"{reference(alias, found.version)} is registered. `practicum models promote` makes '{alias}' name it.")


def versions(alias: AliasArgument, as_json: JsonOption = False) -> None:
    """List the versions of an alias, newest first."""
    with connect() as client:
        found = client.models.versions(alias)
    if as_json:
        show_json(found)
    else:
        _show_versions(found)


def promote(
    alias: AliasArgument,
    version: Annotated[str, typer.Argument(help="The candidate.")],
    evaluation: Annotated[
        Path | None, typer.Option(help="The candidate's evaluation on held-out tasks: its folder or report.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="The evaluation of what the alias names now, on the same tasks.")
    ] = None,
    override: Annotated[
        str | None, typer.Option(help="Why to promote it without being shown to be better; recorded.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let an alias name another version, if it is shown to be better: the next episode uses it."""
    if override is not None and not override.strip():
        raise typer.BadParameter("Say why: whoever reads the record wants to know.", param_hint="--override")
    with connect() as client:
        done = client.models.promote(
            alias,
            version,
            evaluation=None if evaluation is None else read_report(evaluation),
            against=None if against is None else read_report(against),
            override=override,
        )
    if not as_json and done.comparison is not None:
        say(comparison_text(done.comparison))
    _tell(done, as_json=as_json)


def rollback(alias: AliasArgument, as_json: JsonOption = False) -> None:
    """Let an alias name again what it named before: the next episode uses it."""
    with connect() as client:
        done = client.models.rollback(alias)
    _tell(done, as_json=as_json)


def promotions(alias: AliasArgument, as_json: JsonOption = False) -> None:
    """List every change of what an alias names, by whom and on what evidence, newest first."""
    with connect() as client:
        found = client.models.promotions(alias)
    if as_json:
        show_json(found)
        return
    show_table(
        ("version", "change", "from", "by", "at", "evidence"),
        (
            (done.to_version or "", done.change, done.from_version, done.by, moment(done.at), _evidence(done))
            for done in found
        ),
        empty="Nothing changed yet.",
    )


def _tell(done: Promotion, *, as_json: bool) -> None:
    if as_json:
        show_json(done)
    else:
        before = f", and named {done.from_version} before" if done.from_version else ""
        say(f"'{done.alias}' names {done.to_version} now{before}.")


def _evidence(done: Promotion) -> str:
    compared = ""
    if (found := done.comparison) is not None:
        points = [f"{share * 100:+.1f}" for share in (found.difference, found.low, found.high)]
        compared = f"{points[0]} points ({points[1]} to {points[2]}), n={found.n}"
    shares = " ".join(f"{version}={weight}" for version, weight in done.split.items())
    return "; ".join(part for part in (shares, compared, done.override and f"override: {done.override}") if part)


def _checked(found: ModelCheck) -> str:
    lacking = [each.capability for each in found.findings if each.able is False]
    return f"no {', '.join(lacking)}" if lacking else "all"


def _show_versions(found: Sequence[ModelVersion]) -> None:
    show_table(
        ("version", "current", "weight", "checked", "target", "stage", "bundle", "created", "by"),
        (
            (
                each.version,
                "yes" if each.current else "",
                each.weight,
                each.check and _checked(each.check),
                each.target,
                each.bundle and each.bundle.stage,
                each.bundle and each.bundle.digest[:12],
                moment(each.created),
                each.created_by,
            )
            for each in found
        ),
        empty="There is no version.",
    )
