"""Builds a dataset: chosen trajectories as a folder of rows, manifest and card."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from practicum.contracts.base import JsonObject
from practicum.contracts.trajectory import Trajectory, Use
from practicum.datasets.card import CARD, card_of
from practicum.datasets.where import Where, parse_where
from practicum.errors import RequestError
from practicum.files import whole_folder
from practicum.trajectories import Form, Manifest
from practicum.trajectories.export import held_out_reasons, use_reasons
from practicum.trajectories.writer import Writer, check_place

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Format(StrEnum):
    """What a dataset is to be trained with."""

    SFT = "sft"
    """Token-exact rows for supervised fine-tuning: the tokens that were sampled, loss on the model's own."""
    CHAT = "chat"
    """Conversations for a trainer that renders them itself."""
    GRPO = "grpo"
    """Tasks to roll out; what is learned from is sampled during training."""


_FORMS = {Format.SFT: Form.TOKENS, Format.CHAT: Form.MESSAGES, Format.GRPO: Form.TASKS}
_USES = {Format.SFT: Use.SFT, Format.CHAT: Use.SFT, Format.GRPO: Use.RL}


def build(
    name: str,
    trajectories: Iterable[Trajectory],
    folder: Path,
    *,
    format: Format,  # noqa: A002  # the word of the command line
    where: str | Where = "",
    held_out: bool = False,
    overwrite: bool = False,
) -> Manifest:
    """Build a dataset.

    The folder appears when everything in it is written, and not at all if anything goes wrong.

    Args:
        name: the dataset's name.
        trajectories: what to choose from; read once, one at a time.
        folder: where to; it must not exist, unless it is a dataset and `overwrite` is set.
        format: what it is for. For `sft` and `chat` an episode must qualify for SFT; for `grpo` its task counts, and
            how it went does not.
        where: which of the trajectories; see `practicum.datasets.where`.
        held_out: whether episodes of the held-out split may be in it; training on them spoils every measurement.
        overwrite: whether a dataset that is there may be replaced.

    Raises:
        RequestError: the name or the choice cannot be used, no episode qualifies, the held-out split is asked for, or
            rows for SFT were rendered by several templates.
        ConflictError: the folder exists.
        ConfigurationError: the folder cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{name!r} is no name for a dataset.", mend="It has letters, digits, '.', '_' and '-', at most 64."
        )
    choice = parse_where(where) if isinstance(where, str) else where
    if choice.asks_for_held_out and not held_out:
        raise RequestError(
            "The held-out split is asked for: a model trained on it can no longer be measured.",
            mend="Choose split=train, or allow the held-out split expressly.",
        )
    check_place(folder, overwrite=overwrite)
    with whole_folder(folder) as draft:
        writer = Writer(draft, (_FORMS[format],))
        for trajectory in trajectories:
            if unmet := choice.unmet(trajectory):
                writer.skip(unmet)
            else:
                writer.take(trajectory, _reasons(trajectory, format, held_out=held_out))
        query: JsonObject = {"where": choice.text, "format": format.value, "held_out": held_out}
        manifest = writer.finish(_USES[format], query, name=name)
        _check(manifest, format)
        (draft / CARD).write_text(card_of(manifest), encoding="utf-8")
    return manifest


def _reasons(trajectory: Trajectory, wanted: Format, *, held_out: bool) -> tuple[str, ...]:
    """Why an episode that was asked for is left out."""
    qualifies = () if wanted is Format.GRPO else use_reasons(trajectory, _USES[wanted])
    return (*held_out_reasons(trajectory, allowed=held_out), *qualifies)


def _check(manifest: Manifest, wanted: Format) -> None:
    if wanted is Format.SFT and len(manifest.templates) > 1:
        raise RequestError(
            f"The rows were rendered by {len(manifest.templates)} chat templates, and a model is served with one.",
            mend=f"Choose one: {', '.join(f'template={found[:12]}' for found in manifest.templates)}.",
        )
