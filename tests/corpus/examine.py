"""One document, all the way: read, compiled, every tool judged and every operation called as far as the wire."""

import asyncio
import gzip
import resource
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, Fidelity
from practicum.contracts.tools import Tool
from practicum.errors import CallError, DocumentError
from practicum_connectors import CompiledConnector, Document
from practicum_connectors.conformance.tools import tool_faults
from practicum_connectors.connector import load_source
from practicum_connectors.document.sources import folder_source
from tests.corpus.expectations import HARMLESS, Expectation, expectation
from tests.corpus.samples import sample

_BASE_URL = "http://127.0.0.1:1/api"
_HOSTILE_SECONDS = 5.0
_KILOBYTES_PER_MEGABYTE = 1024


@dataclass
class Result:
    """What became of one document.

    Attributes:
        name: where it lies, below the corpus.
        expected: what had to become of it.
        error: the typed error it ended in.
        fidelity: how many operations became what.
        seconds: CPU until it was compiled.
        megabytes: how much the process grew until then.
        built: tools whose request was built and read back.
        not_built: tools whose request was refused with a reason, by the reason's first words.
        faults: what must not be.
    """

    name: str
    expected: Expectation
    error: str = ""
    fidelity: Counter[Fidelity] = field(default_factory=Counter[Fidelity])
    seconds: float = 0.0
    megabytes: float = 0.0
    built: int = 0
    not_built: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])


def content_of(path: Path) -> bytes:
    """The bytes of a document, unpacked.

    Args:
        path: where it lies.
    """
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def read(path: Path) -> Document:
    """A document with the files beside it that it refers to.

    Args:
        path: where it lies.

    Raises:
        DocumentError: it cannot be read.
    """
    beside, itself = folder_source(path.parent), path.resolve().as_uri()

    async def source(address: str) -> bytes:
        return content_of(path) if address == itself else await beside(address)

    spec = ConnectorSpec(name="corpus", source=itself)
    return asyncio.run(load_source(spec, read=source))


def examine(path: Path, folder: Path) -> Result:
    """All that can be found out about a document without a system.

    Args:
        path: where it lies.
        folder: the corpus.
    """
    expected = expectation(path.relative_to(folder)) if content_of(path).strip() else Expectation.BROKEN
    result = Result(str(path.relative_to(folder)), expected)
    before, started = _megabytes(), time.process_time()
    try:
        spec = ConnectorSpec(name="corpus", base_url=_BASE_URL)
        connector = CompiledConnector.compile(spec, read(path))
    except DocumentError as error:
        result.error = error.detail
        if not error.mend:
            result.faults.append(f"the error does not say what to do: {error.detail}")
        if result.expected is Expectation.VALID:
            result.faults.append(f"a valid document is refused: {error.detail}")
        return result
    result.seconds, result.megabytes = time.process_time() - started, _megabytes() - before
    result.fidelity.update(entry.fidelity for entry in connector.report)
    _judge(connector, result)
    return result


def _judge(connector: CompiledConnector, result: Result) -> None:
    result.faults += tool_faults(connector.tools)
    if len(connector.tools) != sum(entry.tool is not None for entry in connector.report):
        result.faults.append("tools and report differ")
    for entry in connector.report:
        if (entry.fidelity is Fidelity.EXACT) == bool(entry.notes):
            result.faults.append(f"{entry.method} {entry.path} is {entry.fidelity} and says {entry.notes}")
    for tool in connector.tools.values():
        try:
            connector.prepare(tool.name, arguments_of(tool))
            result.built += 1
        except CallError as error:
            result.not_built.append(f"{tool.name}: {' '.join(str(error).split())}")
    silent = set(result.fidelity) == {Fidelity.EXACT}
    if result.expected is Expectation.BROKEN and silent and Path(result.name).name not in HARMLESS:
        result.faults.append("a broken document imports without a word")
    if result.expected is Expectation.HOSTILE and result.seconds > _HOSTILE_SECONDS:
        result.faults.append(f"it takes {result.seconds:.1f} s")


def arguments_of(tool: Tool) -> JsonObject:
    """Some arguments that a tool's schema accepts, mostly.

    Args:
        tool: the tool.
    """
    return sample(tool.input_schema, tool.input_schema)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KILOBYTES_PER_MEGABYTE
