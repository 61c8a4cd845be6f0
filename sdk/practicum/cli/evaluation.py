"""`practicum eval` and `practicum compare`: how well a model does, and whether another does better."""

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated

import typer

from practicum.cli.connection import connect_async
from practicum.cli.exits import INTERRUPTED
from practicum.cli.inputs import suite_of
from practicum.cli.output import JsonOption, remark, say, short, show_json
from practicum.client.call import build
from practicum.contracts.episodes import Limits
from practicum.contracts.evaluation import EvaluationReport
from practicum.contracts.models import Sampling
from practicum.contracts.tasks import Split
from practicum.evaluation import Progress, compare, comparison_text, evaluate, read_report, report_text
from practicum.tasks import Suite

ReportArgument = Annotated[Path, typer.Argument(help="Folder of an evaluation, or its report.json.")]


def eval_suite(
    suite: Annotated[str, typer.Argument(help="Dotted path of the suite, such as examples.tasks:SUITE.")],
    model: Annotated[str, typer.Option(help="Alias of the model.")],
    out: Annotated[Path, typer.Option(help="Folder for plan, attempts and report; give it again to go on.")],
    attempts: Annotated[int, typer.Option("--attempts", "-k", min=1, help="Attempts at each task.")] = 1,
    split: Annotated[Split, typer.Option(help="Which tasks.")] = Split.HELD_OUT,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first tasks of the split.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="The most model turns of an episode.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Instead of the model's own.")] = None,
    top_p: Annotated[float | None, typer.Option(min=0, max=1, help="Instead of the model's own.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of one turn.")] = None,
    seed: Annotated[int | None, typer.Option(help="Send seeds made from this one, the same for every model.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Attempts under way at once.")] = 4,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a model on the tasks of a suite, on practice systems; shares come with n and 95% intervals.

    Interrupted or killed, it goes on where it stopped when the same command is given again.
    """
    found = suite_of(suite)
    drawing = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}

    def tell(progress: Progress) -> None:
        attempt = progress.attempt
        why = short("; ".join(attempt.differences), 100)
        remark(f"{progress.done}/{progress.total} {attempt.task} {_verdict(attempt.reward)} {why}".rstrip())

    async def run(suite: Suite) -> EvaluationReport:
        async with connect_async() as client:
            return await evaluate(
                client,
                suite,
                model=model,
                folder=out,
                split=split,
                k=attempts,
                limit=limit,
                limits=Limits() if steps is None else build(Limits, "limits", steps=steps),
                sampling=build(
                    Sampling, "sampling", **{name: each for name, each in drawing.items() if each is not None}
                ),
                seed=seed,
                concurrency=concurrency,
                on_attempt=None if as_json else tell,
            )

    try:
        report = asyncio.run(_orderly(run(found)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        remark(f"\nInterrupted; what is done is kept in {out}.\n  -> give the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        show_json(report)
    else:
        say(report_text(report))


def compare_reports(
    baseline: ReportArgument,
    candidate: ReportArgument,
    as_json: JsonOption = False,
) -> None:
    """Compare two evaluations of the same tasks, paired: is the candidate better, beyond chance?"""
    found = compare(read_report(baseline), read_report(candidate))
    if as_json:
        show_json(found)
    else:
        say(comparison_text(found))


async def _orderly(evaluation: Coroutine[None, None, EvaluationReport]) -> EvaluationReport:
    """Let SIGTERM and SIGHUP end an evaluation as Ctrl-C does: what is under way is cancelled, its episodes closed."""
    task, loop = asyncio.ensure_future(evaluation), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    return await task


def _verdict(reward: float | None) -> str:
    return "unscored" if reward is None else f"{reward:g}"
