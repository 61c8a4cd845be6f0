"""`practicum train`: a better model out of records, and out of practice."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from practicum.cli.exits import INTERRUPTED
from practicum.cli.inputs import suite_of
from practicum.cli.output import JsonOption, remark, say, show_fields, show_json
from practicum.cli.services.signals import interruptible
from practicum.stages.bases import find_base
from practicum.stages.bundle import Bundle
from practicum.stages.extra import require
from practicum.stages.grpo import train_grpo
from practicum.stages.progress import Progress
from practicum.stages.settings import GrpoSettings, SftSettings, settings_of
from practicum.stages.sft import CODEC, train_sft

app = typer.Typer(help="Train a model on what was recorded, or by practice.", no_args_is_help=True)

_CACHE = Path.home() / ".cache" / "practicum"
_SHOWN = ("loss", "reward", "kl", "replay_loss", "lost")

OutOption = Annotated[Path, typer.Option(help="Folder of the run, which becomes the bundle; give it again to go on.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting as name=value, such as lora.rank=8; repeatable, unknown ones fail."),
]
RateOption = Annotated[float | None, typer.Option(help="Highest learning rate.")]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Of everything that is drawn.")]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="Of torch on a CPU.")]
SecondsOption = Annotated[float | None, typer.Option(help="End after this time with what was learned.")]
CacheOption = Annotated[
    Path, typer.Option("--cache-dir", help="Where converted base models are kept.", show_default="~/.cache/practicum")
]


@app.command(epilog="**Example:** `practicum train sft datasets/orders-1 --base smollm2 --out runs/sft --set epochs=3`")
def sft(
    dataset: Annotated[Path, typer.Argument(help="Folder of a dataset for sft.")],
    base: Annotated[str, typer.Option(help="'smollm2', or a folder that transformers can load.")],
    out: OutOption,
    full: Annotated[bool, typer.Option("--full", help="Train the whole model instead of an adapter.")] = False,
    system: Annotated[
        str | None, typer.Option(help="System message to serve it with; without, the one that the episodes began with.")
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="Times that every row is seen.")] = None,
    rate: RateOption = None,
    codec: Annotated[str, typer.Option(help="Dialect of the rows.")] = CODEC,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    seconds: SecondsOption = None,
    further: SetOption = None,
    cache: CacheOption = _CACHE,
    as_json: JsonOption = False,
) -> None:
    """Train a model to draw the tokens that were recorded; needs the extra `train`.

    Interrupted or killed, it goes on where it stopped when the same command is given again.
    """
    named = {"system": system, "epochs": epochs, "rate": rate, "seed": seed, "threads": threads, "seconds": seconds}
    settings = settings_of(SftSettings, [*_assigned(named), *(["lora=null"] if full else []), *(further or ())])
    require()
    bundle = _patiently(
        out, lambda: train_sft(dataset, find_base(base, cache), out, settings, codec=codec, listener=_tell)
    )
    _show(bundle, out, as_json=as_json)


@app.command(
    epilog="**Example:** `practicum train grpo examples.tasks:SUITE --from runs/sft --out runs/grpo "
    "--replay datasets/orders-1`"
)
def grpo(
    suite: Annotated[str, typer.Argument(help="Dotted path of the suite, such as examples.tasks:SUITE.")],
    start: Annotated[Path, typer.Option("--from", help="Bundle to go on from.")],
    out: OutOption,
    steps: Annotated[int | None, typer.Option(min=1, help="Optimiser steps.")] = None,
    rate: RateOption = None,
    beta: Annotated[float | None, typer.Option(min=0, help="Weight of the distance from where it began.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Dataset for sft whose rows join every step.")] = None,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    seconds: SecondsOption = None,
    further: SetOption = None,
    cache: CacheOption = _CACHE,
    as_json: JsonOption = False,
) -> None:
    """Let a model practise the tasks of a suite's train split and learn from how it went; needs the extra `train`.

    Interrupted or killed, it goes on where it stopped when the same command is given again.
    """
    named = {"steps": steps, "rate": rate, "beta": beta, "seed": seed, "threads": threads, "seconds": seconds}
    replayed = [] if replay is None else [f"replay.dataset={replay}"]
    settings = settings_of(GrpoSettings, [*_assigned(named), *replayed, *(further or ())])
    require()
    found = suite_of(suite)
    bundle = _patiently(out, lambda: train_grpo(found, start, out, settings, cache=cache, listener=_tell))
    _show(bundle, out, as_json=as_json)


def _assigned(named: Mapping[str, JsonValue]) -> list[str]:
    return [f"{name}={json.dumps(value)}" for name, value in named.items() if value is not None]


def _patiently(out: Path, train: Callable[[], Bundle]) -> Bundle:
    remark("loading; then every step is a line")
    try:
        with interruptible():
            return train()
    except KeyboardInterrupt:
        remark(f"\nInterrupted; what was learned up to the last checkpoint is kept in {out}.")
        remark("  -> give the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None


def _tell(progress: Progress) -> None:
    figures = " ".join(f"{name} {progress.figures[name]:.4g}" for name in _SHOWN if name in progress.figures)
    remark(f"{progress.stage} {progress.step}/{progress.steps} {progress.seconds:.0f} s {figures}")


def _show(bundle: Bundle, out: Path, *, as_json: bool) -> None:
    if as_json:
        show_json(bundle)
        return
    show_fields(
        (
            ("bundle", out),
            ("what", f"{bundle.kind} from {bundle.stage}, over {bundle.base.name}"),
            ("steps", bundle.steps),
            ("seconds", bundle.seconds),
            ("learned from", ", ".join(f"{source.kind} {source.name}" for source in bundle.sources)),
            ("digest", bundle.digest),
        )
    )
    say(f"Serve it with: practicum models register ALIAS {out}", "dim")
