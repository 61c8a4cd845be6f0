"""Which of a document's operations a registration wants."""

import fnmatch
from collections.abc import Iterator, Sequence

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors.document import Document, Operation, Unreadable
from practicum_connectors.document.pointers import as_list, as_node, text_of

_TAG = "tag:"


class Selection:
    """The patterns of a registration, each over the name of an operation, `METHOD /path`, or `tag:` and a tag.

    Attributes:
        notes: which patterns have named nothing so far.
    """

    def __init__(self, spec: ConnectorSpec, document: Document) -> None:
        """Take the patterns of a registration.

        Args:
            spec: the registration.
            document: knows the tags of its operations.
        """
        self._include = spec.include
        self._exclude = spec.exclude
        self._document = document
        self._idle = dict.fromkeys((*spec.include, *spec.exclude))

    def wants(self, operation: Operation | Unreadable, name: str) -> bool:
        """Whether an operation is wanted.

        Args:
            operation: the operation.
            name: its name.
        """
        included = self._fits(self._include, operation, name)
        excluded = self._fits(self._exclude, operation, name)
        return (included or not self._include) and not excluded

    @property
    def notes(self) -> tuple[str, ...]:
        """Which patterns have named nothing so far."""
        return tuple(f"The pattern {pattern!r} names no operation." for pattern in self._idle)

    def _fits(self, patterns: Sequence[str], operation: Operation | Unreadable, name: str) -> bool:
        """Whether any of the patterns fits; every one that does is noted."""
        fitting = [pattern for pattern in patterns if self._one_fits(pattern, operation, name)]
        for pattern in fitting:
            self._idle.pop(pattern, None)
        return bool(fitting)

    def _one_fits(self, pattern: str, operation: Operation | Unreadable, name: str) -> bool:
        if pattern.startswith(_TAG):
            tags = self._tags(operation)
            return any(fnmatch.fnmatchcase(tag, pattern.removeprefix(_TAG)) for tag in tags)
        if " " in pattern:
            return fnmatch.fnmatchcase(f"{operation.method} {operation.path}", pattern)
        return fnmatch.fnmatchcase(name, pattern)

    def _tags(self, operation: Operation | Unreadable) -> Iterator[str]:
        paths = as_node(self._document.root.get("paths"))
        try:
            item = self._document.pointers.follow(paths.get(operation.path))
        except DocumentError:  # its own report says so
            return
        others = as_node(item.get("additionalOperations"))
        found = as_node(item.get(operation.method.lower())) or as_node(others.get(operation.method))
        yield from (text_of(tag) for tag in as_list(found.get("tags")))
