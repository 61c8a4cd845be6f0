"""What must become of documents, by the folders they lie in, and why some broken ones may import without a word."""

from enum import StrEnum
from pathlib import Path

_BROKEN = frozenset({"fail", "invalid", "unknown"})
_BROKEN_FILES = frozenset({"callbacks-promises-error.yaml"})
_HOSTILE = "malicious"
_PARTS = frozenset({"definitions", "files", "resources", "subdir1", "partial"})


class Expectation(StrEnum):
    """What must become of a document."""

    VALID = "valid"
    """It imports; what cannot become a tool is refused with a reason."""
    BROKEN = "broken"
    """A typed error, or an import that says what is wrong with the operations that the fault touches."""
    HOSTILE = "hostile"
    """A typed error or an import, in bounded time, and nothing else."""
    PART = "part"
    """A piece that other documents refer to; on its own it is none."""


def expectation(path: Path) -> Expectation:
    """What must become of a document.

    Args:
        path: where it lies, below the corpus.
    """
    folders = set(path.parts[:-1])
    if path.name in _BROKEN_FILES:
        return Expectation.BROKEN
    if _HOSTILE in folders:
        return Expectation.HOSTILE
    if folders & _BROKEN:
        return Expectation.BROKEN
    return Expectation.PART if folders & _PARTS else Expectation.VALID


_NUMBER = "a number where a text should stand"
_ANSWER = "only the description of an answer"
_MEANT = "what was meant is plain, and is what is sent"
HARMLESS: dict[str, str] = {
    "numeric-info-version.yaml": _NUMBER,
    "numeric-version.yaml": _NUMBER,
    "unknown.yaml": _ANSWER,
    "anyof.yaml": _ANSWER,
    "oneof.yaml": _ANSWER,
    "invalid-response-code.yaml": _ANSWER,
    "invalid-response-header-type.yaml": _ANSWER,
    "invalid-response-type.yaml": _ANSWER,
    "non-primitive-response-header-type.yaml": _ANSWER,
    "array-response-body-no-items.yaml": _ANSWER,
    "array-response-header-no-items.yaml": _ANSWER,
    "required-property-not-defined-definitions.yaml": _ANSWER,
    "example1_from_._Improved_examples.md.yaml": _ANSWER,
    "example2_from_._Improved_examples.md.yaml": _ANSWER,
    "example2_from_._New_links.md.yaml": _ANSWER,
    "api-with-examples.yaml": _ANSWER,
    "file-body-param.yaml": _MEANT,
    "invalid-param-location.yaml": _MEANT,
    "non-required-path-param.yaml": _MEANT,
    "optional-path-param.yaml": _MEANT,
    "duplicate-path-placeholders.yaml": _MEANT,
    "duplicate-operation-ids.yaml": "tools are told apart by method and path",
    "duplicateOperationId.yaml": "tools are told apart by method and path",
    "array-body-no-items.yaml": "a list of anything",
    "array-no-items.yaml": "a list of anything",
    "required-property-not-defined-input.yaml": "a member that is asked for may be anything",
    "ref-to-invalid-path.yaml": "a path without operations",
    "deprecated.yaml": "a text where true should stand",
    "deprecated2.yaml": "a text where true should stand",
    "deprecated3.yaml": "a text where true should stand",
    "example2_from_._Different_requestbody.md.yaml": "an empty description",
    "file-invalid-consumes.yaml": _MEANT,
    "file-no-consumes.yaml": _MEANT,
    "hasFlowNotFlows.json": "a credential that is given with the registration, not by the document",
    "incorrectSecType.json": "a credential that is given with the registration, not by the document",
    "invalidSchema.json": "a description where none may stand",
    "invalidSchemaName.json": "the name of a component",
    "openapi-ui.yaml": "parameters without a schema, which may be anything",
}
"""Broken documents that import with every operation exact, by file name, and what is wrong that no call needs."""
