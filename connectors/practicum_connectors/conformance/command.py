"""`practicum conformance`: run the cases that come with the package, and say what differs."""

import fnmatch
from typing import Annotated

import typer

from practicum.cli.exits import FAILED
from practicum.cli.output import JsonOption, say, show_json
from practicum.errors import MissingExtraError
from practicum_connectors import conformance as suite


def conformance(
    pattern: Annotated[str, typer.Argument(help="Only these cases, such as `bodies/form-*`.")] = "*",
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of all cases and run nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run our own small cases for every construct of OpenAPI: is the right request built, and the answer read right?

    Exit status 1 if any differs.
    """
    try:
        cases, run, markdown = suite.load_cases(), suite.run, suite.markdown
    except ImportError:
        raise MissingExtraError("connectors", "Running the cases") from None
    if as_markdown:
        typer.echo(markdown(cases), nl=False)
        return
    chosen = {f"{name}/{case.id}": case for name, entries in cases.items() for case in entries}
    chosen = {name: case for name, case in chosen.items() if fnmatch.fnmatchcase(name, pattern)}
    if not chosen:
        raise typer.BadParameter(f"There is no case {pattern!r}.", param_hint="PATTERN")
    outcomes = dict(zip(chosen, run(chosen.values()), strict=True))
    passed = sum(outcome.passed for outcome in outcomes.values())
    if as_json:
        show_json(
            [
                {"case": name, "about": each.case.about, "passed": each.passed, "differences": list(each.differences)}
                for name, each in outcomes.items()
            ]
        )
    else:
        for name, outcome in outcomes.items():
            if not outcome.passed:
                say(f"{name}: {outcome.case.about}", style="bold")
                say("\n".join(f"  {difference}" for difference in outcome.differences))
        say(f"{passed} of {len(outcomes)} cases pass.")
    if passed < len(outcomes):
        raise typer.Exit(FAILED)
