"""Recorded rows that a model can learn from: token ids exactly as they were sampled, and which of them it drew."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from practicum.codecs.codec import Codec
from practicum.datasets import Dataset
from practicum.errors import ConfigurationError, RequestError
from practicum.trajectories import TokenRow
from practicum.trajectories.tokens import IGNORED

_SHOWN = 3


@dataclass(frozen=True)
class Rows:
    """The rows of a dataset.

    Attributes:
        folder: where they were read.
        digest: of the dataset.
        rows: the rows.
        systems: the system messages that their episodes began with; an empty one where there was none.
    """

    folder: Path
    digest: str
    rows: tuple[TokenRow, ...]
    systems: tuple[str, ...]

    @property
    def trainable(self) -> int:
        """Tokens with a loss."""
        return sum(row.trainable for row in self.rows)


def read_rows(folder: Path, codec: Codec) -> Rows:
    """Read the token rows of a dataset.

    Args:
        folder: what `practicum datasets build --format sft` wrote.
        codec: in which the model will be trained and served.

    Raises:
        ConfigurationError: there is no dataset, it was changed, or another template rendered it.
        RequestError: it holds no token rows.
    """
    dataset = Dataset(folder)
    templates = set(dataset.manifest.templates)
    if templates != {codec.template_hash}:
        found = ", ".join(sorted(template[:12] for template in templates)) or "an unknown one"
        raise ConfigurationError(
            f"The rows of {folder} were rendered with another template ({found}) than '{codec.name}' has now "
            f"({codec.template_hash[:12]}).",
            mend="Record the episodes again: a model must be trained in the dialect that it is served in.",
        )
    return Rows(folder, dataset.digest, tuple(dataset.token_rows()), dataset.manifest.systems)


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
