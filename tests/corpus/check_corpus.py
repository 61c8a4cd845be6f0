"""Real documents nobody here wrote, imported and called: `make corpus`.

The documents lie in the folder named by PRACTICUM_CORPUS, else in `../shared/specs` beside the repository; without it
this says so and ends. Valid documents must import with a report; broken ones end in one typed error, or their report
says what is wrong; hostile ones do nothing else. Every tool must have a valid name and schema, and for every operation
a request must be built and read back, or be refused with a reason.
"""

import asyncio
import itertools
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from practicum.contracts.connectors import ConnectorSpec, Fidelity
from practicum.contracts.tools import CallStatus, Effect
from practicum_connectors import CompiledConnector, ToolIndex
from tests.connectors.loopback import Answer, System
from tests.corpus.examine import Result, examine, read
from tests.serving import in_a_thread

ROOT = Path(__file__).parents[2]
GITHUB = "github_api.github.com.json.gz"
GITHUB_SECONDS = 5.0
SEARCH_SECONDS = 0.05
MOST_REFUSED = 0.01
"""Share of the vendors' operations that may be refused."""
MOST_NOT_BUILT = 0.03
"""Share of their tools for which the made-up arguments may not fit: patterns and rules that a sample does not guess."""
SHOWN_FAULTS = 60
console = Console(width=150)


def examined(paths: Iterable[Path], folder: Path, together: int) -> list[Result]:
    """What became of documents, so many in a process together: alone, the memory of a document is its own."""
    context = multiprocessing.get_context("fork")
    with context.Pool(maxtasksperchild=1) as pool:
        return pool.starmap(examine, ((path, folder) for path in paths), chunksize=together)


def show_documents(results: list[Result]) -> None:
    table = Table("document", "exact", "degraded", "refused", "CPU s", "MB", "built", "not built", "error")
    for result in results:
        counts = [str(result.fidelity[kind]) for kind in (Fidelity.EXACT, Fidelity.DEGRADED, Fidelity.REFUSED)]
        spent = [f"{result.seconds:.2f}", f"{result.megabytes:.0f}", str(result.built), str(len(result.not_built))]
        table.add_row(result.name, *([""] * 7 if result.error else [*counts, *spent]), result.error)
    total = sum((result.fidelity for result in results), Counter[Fidelity]())
    table.add_section()
    table.add_row(
        f"{len(results)} documents",
        *(str(total[kind]) for kind in (Fidelity.EXACT, Fidelity.DEGRADED, Fidelity.REFUSED)),
        f"{sum(result.seconds for result in results):.2f}",
        f"{max(result.megabytes for result in results):.0f} at most",
        str(sum(result.built for result in results)),
        str(sum(len(result.not_built) for result in results)),
        "",
    )
    console.print(table)


def show_collections(results: list[Result]) -> None:
    table = Table("small documents", "how many", "refused with a typed error", "imported", "operations", "built")
    for expected, group in itertools.groupby(sorted(results, key=lambda r: r.expected), key=lambda r: r.expected):
        entries = list(group)
        errors = sum(bool(entry.error) for entry in entries)
        operations = sum(sum(entry.fidelity.values()) for entry in entries)
        numbers = (len(entries), errors, len(entries) - errors, operations, sum(entry.built for entry in entries))
        table.add_row(expected, *map(str, numbers))
    console.print(table)


def shares(results: list[Result]) -> list[str]:
    """Whether more operations of the vendors' documents are lost than may be."""
    total = sum((result.fidelity for result in results), Counter[Fidelity]())
    built, not_built = sum(result.built for result in results), sum(len(result.not_built) for result in results)
    refused, missed = total[Fidelity.REFUSED] / total.total(), not_built / (built + not_built)
    console.print(
        f"Refused: {refused:.2%} of the operations. Not built from made-up arguments: {missed:.2%} of the tools."
    )
    faults = [f"{refused:.2%} of all operations are refused, more than {MOST_REFUSED:.0%}"] * (refused > MOST_REFUSED)
    return faults + [f"{missed:.2%} of all requests are not built, more than {MOST_NOT_BUILT:.0%}"] * (
        missed > MOST_NOT_BUILT
    )


async def check_github(path: Path) -> list[str]:
    """The biggest document registers in time, is searched, and one of its reads is called for real."""
    started = time.perf_counter()
    document = await asyncio.to_thread(read, path)
    system, faults = System(), list[str]()
    with in_a_thread(system) as url:
        system.answer("/repos/octo/hello", Answer(body={"id": 1, "full_name": "octo/hello"}))
        spec = ConnectorSpec(name="github", base_url=url, private_network=True)
        async with CompiledConnector.compile(spec, document) as connector:
            seconds = time.perf_counter() - started
            index = ToolIndex(connector.tools.values())
            started = time.perf_counter()
            found = index.search("get a repository", limit=10)
            searched = time.perf_counter() - started
            prepared = connector.prepare("github_repos_get", {"owner": "octo", "repo": "hello"})
            seen = connector.observe(await connector.send(prepared))
    console.print(f"GitHub: {len(connector.tools)} tools in {seconds:.2f} s, searched in {searched * 1000:.1f} ms")
    if seconds > GITHUB_SECONDS or searched > SEARCH_SECONDS:
        faults.append("GitHub's document takes too long")
    if "github_repos_get" not in {tool.name for tool in found}:
        faults.append("the search for 'get a repository' does not find repos/get")
    called = prepared.tool.effect is Effect.READ and system.seen[0].raw_path == "/repos/octo/hello"
    if not called or seen.status is not CallStatus.OK:
        faults.append(f"the call of repos/get went wrong: {seen}")
    return faults


def main() -> int:
    """Check all; the exit status says whether anything is wrong."""
    folder = Path(os.environ.get("PRACTICUM_CORPUS", ROOT.parent / "shared" / "specs"))
    if not folder.is_dir():
        console.print(
            f"[bold yellow]SKIPPED: there are no documents in {folder}; set PRACTICUM_CORPUS to their folder."
        )
        return 0
    large = examined(sorted(folder.glob("*.gz")), folder, together=1)
    kinds = {".json", ".yaml", ".yml"}
    small = examined(sorted(p for p in (folder / "collections").rglob("*") if p.suffix in kinds), folder, together=50)
    show_documents(large)
    show_collections(small)
    faults = [f"{result.name}: {fault}" for result in (*large, *small) for fault in result.faults] + shares(large)
    if (folder / GITHUB).exists():
        faults += asyncio.run(check_github(folder / GITHUB))
    for fault in faults[:SHOWN_FAULTS]:
        console.print(f"[bold red]FAULT[/] {fault}")
    if faults:
        console.print(f"{len(faults)} faults.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
