"""Real documents nobody here wrote, imported and called: `make corpus`.

The documents lie in the folder named by PRACTICUM_CORPUS, else in `../shared/specs` beside the repository; without it
this says so and ends. Every document must import with a report or one typed error, every tool must have a valid name
and schema, and for every operation a request must be built and read back, or be refused with a reason.
"""

import asyncio
import gzip
import itertools
import os
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from rich.console import Console
from rich.table import Table

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, Fidelity
from practicum.contracts.tools import CallStatus, Effect, Tool
from practicum.errors import CallError, DocumentError
from practicum_connectors import CompiledConnector, ToolIndex, load_document
from tests.connectors.loopback import Answer, Server, System
from tests.corpus.samples import sample

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CHECKED_TOOLS = 150  # per document: the meta-schema is slow, and neighbours are alike
GITHUB = "github_api.github.com.json.gz"
GITHUB_SECONDS = 5.0
SEARCH_SECONDS = 0.05
console = Console(width=140)


@dataclass
class Result:
    """What became of one document."""

    name: str
    error: str = ""
    fidelity: Counter[Fidelity] = field(default_factory=Counter[Fidelity])
    seconds: float = 0.0
    built: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list[str])


def read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def imported(path: Path) -> tuple[CompiledConnector | None, Result]:
    """A document as a connector, or the typed error that it ends in; any other exception ends the check."""
    result = Result(path.name)
    started = time.perf_counter()
    try:
        spec = ConnectorSpec(name="corpus", base_url="http://127.0.0.1:1/api")
        connector = CompiledConnector.compile(spec, load_document(read(path)))
    except DocumentError as error:
        result.error = error.detail
        return None, result
    result.seconds = time.perf_counter() - started
    result.fidelity.update(entry.fidelity for entry in connector.report)
    return connector, result


def check_tools(connector: CompiledConnector, result: Result) -> None:
    """Names, schemas, and a request for each of the first tools."""
    result.faults += [f"name {name!r}" for name in connector.tools if not NAME.fullmatch(name)]
    if len(connector.tools) != sum(entry.tool is not None for entry in connector.report):
        result.faults.append("tools and report differ")
    for tool in itertools.islice(connector.tools.values(), CHECKED_TOOLS):
        try:
            Draft202012Validator.check_schema(tool.input_schema)
        except SchemaError as error:
            result.faults.append(f"schema of {tool.name}: {error.message}")
        try:
            connector.prepare(tool.name, arguments_of(tool))
            result.built += 1
        except CallError:
            result.refused += 1


def arguments_of(tool: Tool) -> JsonObject:
    return sample(tool.input_schema, tool.input_schema)


async def check_github(path: Path, faults: list[str]) -> None:
    """The biggest document registers in time, is searched, and one of its reads is called for real."""
    started = time.perf_counter()
    document = load_document(read(path))
    system = System()
    with Server(system) as url:
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
    if (
        prepared.tool.effect is not Effect.READ
        or seen.status is not CallStatus.OK
        or system.seen[0].raw_path != "/repos/octo/hello"
    ):
        faults.append(f"the call of repos/get went wrong: {seen}")


def show(results: list[Result]) -> None:
    table = Table(
        "document", "exact", "degraded", "refused", "seconds", "built", "not built", "error", title="Documents"
    )
    for result in results:
        counts = [str(result.fidelity[kind]) for kind in (Fidelity.EXACT, Fidelity.DEGRADED, Fidelity.REFUSED)]
        row = (
            [*counts, f"{result.seconds:.2f}", str(result.built), str(result.refused)]
            if not result.error
            else ["", "", "", "", "", ""]
        )
        table.add_row(result.name, *row, result.error)
    console.print(table)


def main() -> int:
    """Check all; the exit status says whether anything is wrong."""
    folder = Path(os.environ.get("PRACTICUM_CORPUS", ROOT.parent / "shared" / "specs"))
    if not folder.is_dir():
        console.print(
            f"[bold yellow]SKIPPED: there are no documents in {folder}; set PRACTICUM_CORPUS to their folder."
        )
        return 0
    results: list[Result] = []
    for path in sorted(folder.glob("*.gz")):
        connector, result = imported(path)
        if connector is not None:
            check_tools(connector, result)
        results.append(result)
    show(results)
    small = [
        imported(path)
        for path in sorted((folder / "collections").rglob("*"))
        if path.suffix in {".json", ".yaml", ".yml"}
    ]
    outcomes = Counter("refused with a typed error" if result.error else "imported" for _, result in small)
    console.print(f"Small documents: {dict(outcomes)}")
    faults = [
        f"{result.name}: {fault}" for result in (*results, *(result for _, result in small)) for fault in result.faults
    ]
    if (folder / GITHUB).exists():
        asyncio.run(check_github(folder / GITHUB, faults))
    for fault in faults:
        console.print(f"[bold red]FAULT[/] {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
