"""What an erasure touches and what it leaves behind. Pure."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from practicum.contracts.audit import Action
from practicum_gateway.audit.log import Deed

RANGES_TOLD = 150
"""How many ranges one entry names, so that none of them is too large to be kept."""


class Mention:
    """Recognises a subject wherever it stands alone: `ada` names nobody in `canada`."""

    def __init__(self, subject: str) -> None:
        """Look for a subject; case does not count."""
        self._pattern = re.compile(rf"(?<!\w){re.escape(subject)}(?!\w)", re.IGNORECASE)

    def in_text(self, text: str) -> bool:
        """Whether a text names it."""
        return self._pattern.search(text) is not None

    def in_value(self, value: JsonValue) -> bool:
        """Whether a JSON value names it anywhere, in names too."""
        if isinstance(value, dict):
            return any(self.in_text(name) or self.in_value(held) for name, held in value.items())
        if isinstance(value, list):
            return any(self.in_value(held) for held in value)
        return value is not None and self.in_text(str(value))


def ranges_of(sequences: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges, both ends included."""
    ranges: list[tuple[int, int]] = []
    for sequence in sequences:
        if ranges and ranges[-1][1] == sequence - 1:
            ranges[-1] = (ranges[-1][0], sequence)
        else:
            ranges.append((sequence, sequence))
    return ranges


def proof_of(receipt: str, subject: str) -> str:
    """What the log keeps of a subject: nobody learns from it whose erasure it was, but who holds the receipt."""
    return hashlib.sha256(f"{receipt}:{subject}".encode()).hexdigest()


def told(ranges: Sequence[tuple[int, int]], reason: str, proof: str) -> Iterator[Deed]:
    """The entries that say what was erased; one, where nothing was found, too."""
    for start in range(0, max(len(ranges), 1), RANGES_TOLD):
        part = ranges[start : start + RANGES_TOLD]
        yield Deed(
            Action.AUDIT_ERASED,
            "audit",
            details={
                "touched": [list(each) for each in part],
                "entries": sum(end - first + 1 for first, end in part),
                "reason": reason,
                "proof": proof,
            },
        )
