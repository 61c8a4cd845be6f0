"""Recorded rows that a model can learn from: token ids exactly as they were sampled, and which of them it drew."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from practicum.codecs.codec import Codec
from practicum.errors import ConfigurationError, RequestError
from practicum.stages.bundle import digest_of
from practicum.trajectories import Form, Manifest, TokenRow
from practicum.trajectories.manifest import MANIFEST
from practicum.trajectories.tokens import IGNORED

_SHOWN = 3


@dataclass(frozen=True)
class Rows:
    """The rows of a data set.

    Attributes:
        folder: where they were read.
        digest: SHA-256 of the file.
        rows: the rows.
    """

    folder: Path
    digest: str
    rows: tuple[TokenRow, ...]

    @property
    def trainable(self) -> int:
        """Tokens with a loss."""
        return sum(row.trainable for row in self.rows)


def read_rows(folder: Path, codec: Codec) -> Rows:
    """Read the token rows of a data set.

    Args:
        folder: what `practicum datasets build --format sft` or an export of tokens wrote.
        codec: in which the model will be trained and served.

    Raises:
        ConfigurationError: there are no such rows, they were changed, or another template rendered them.
        RequestError: a row cannot be trained on.
    """
    manifest = _manifest(folder)
    file = next((file for file in manifest.files if file.form is Form.TOKENS), None)
    if file is None:
        raise ConfigurationError(
            f"{folder} holds no token rows.", mend="Build it with: practicum datasets build NAME --format sft"
        )
    if set(manifest.templates) != {codec.template_hash}:
        found = ", ".join(template[:12] for template in manifest.templates) or "an unknown one"
        raise ConfigurationError(
            f"The rows of {folder} were rendered with another template ({found}) than '{codec.name}' has now "
            f"({codec.template_hash[:12]}).",
            mend="Record the episodes again: a model must be trained in the dialect that it is served in.",
        )
    path = folder / file.name
    digest = digest_of(path)
    if digest != file.sha256:
        raise ConfigurationError(f"{path} is not what its manifest says.", mend="Build the data set again.")
    lines = path.read_text(encoding="utf-8").splitlines()
    return Rows(folder, digest, tuple(_row(path, number, line) for number, line in enumerate(lines, 1)))


def check_rows(rows: Sequence[TokenRow], *, vocabulary: int, context: int, stops: Collection[int]) -> None:
    """See that a model of this size can learn from every row.

    Args:
        rows: the rows.
        vocabulary: how many tokens the model knows.
        context: the most tokens that it reads.
        stops: ids of the end of turn.

    Raises:
        RequestError: one cannot be trained on; nothing is left out or cut in silence.
    """
    faults = [(row, fault) for row in rows if (fault := _fault(row, vocabulary, context, stops)) is not None]
    if faults:
        told = "; ".join(f"episode {row.episode}, step {row.step}: {fault}" for row, fault in faults[:_SHOWN])
        raise RequestError(
            f"{len(faults)} of {len(rows)} rows cannot be trained on: {told}.",
            mend="Leave those episodes out, or train a model that can take them.",
        )


def _fault(row: TokenRow, vocabulary: int, context: int, stops: Collection[int]) -> str | None:
    return _shape_fault(row) or _fit_fault(row, vocabulary, context, stops)


def _shape_fault(row: TokenRow) -> str | None:
    """What is wrong with a row by itself."""
    if len(row.labels) != len(row.input_ids):
        return f"{len(row.input_ids)} tokens have {len(row.labels)} labels"
    if not row.trainable:
        return "it holds no token that the model drew"
    if row.labels[0] != IGNORED:
        return "its first token is to be learned, with nothing before it"
    if any(label not in (IGNORED, token) for token, label in zip(row.input_ids, row.labels, strict=True)):
        return "a label is not the token at its place"
    return None


def _fit_fault(row: TokenRow, vocabulary: int, context: int, stops: Collection[int]) -> str | None:
    """What about a row does not fit the model."""
    if len(row.input_ids) > context:
        return f"its {len(row.input_ids)} tokens do not fit into a context of {context}"
    if max(row.input_ids) >= vocabulary or min(row.input_ids) < 0:
        return f"it holds tokens that a vocabulary of {vocabulary} does not have"
    if not any(label in stops for label in row.labels):
        return "it teaches no end of turn, so the model would never stop"
    return None


def _manifest(folder: Path) -> Manifest:
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"{folder} holds no data set: {error.strerror}.",
            mend="Build one with: practicum datasets build NAME --format sft",
        ) from error
    except ValidationError as error:
        raise ConfigurationError(f"The manifest of {folder} is damaged.", mend="Build the data set again.") from error


def _row(path: Path, number: int, line: str) -> TokenRow:
    try:
        return TokenRow.model_validate_json(line)
    except ValidationError as error:
        raise RequestError(
            f"{path}, line {number}, is no token row: {error.errors()[0]['msg']}.", mend="Build the data set again."
        ) from error
