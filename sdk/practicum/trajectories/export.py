"""Writes trajectories to files that a trainer takes, whole or not at all, and says what was left out."""

import json
import shutil
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tasks import Split
from practicum.contracts.trajectory import Trajectory, Use
from practicum.errors import ConfigurationError, ConflictError, RequestError
from practicum.trajectories.chat import chat_row
from practicum.trajectories.eligibility import accepted_calls, uses
from practicum.trajectories.manifest import FILES, MANIFEST, Exclusion, ExportedFile, Form, Manifest
from practicum.trajectories.tokens import token_rows

_USES = {Form.CHAT: (Use.SFT,), Form.TOKENS: (Use.SFT, Use.RL)}

_REASONS_TOLD = 5


def export(
    trajectories: Iterable[Trajectory],
    folder: Path,
    *,
    forms: Collection[Form] = (Form.CHAT,),
    use: Use = Use.SFT,
    min_reward: float | None = None,
    held_out: bool = False,
    query: JsonObject | None = None,
    overwrite: bool = False,
) -> Manifest:
    """Write trajectories as training files with a `manifest.json`.

    The folder appears when everything in it is written, and not at all if anything goes wrong.

    Args:
        trajectories: what to choose from; read once, one at a time.
        folder: where to; it must not exist, unless it is an export and `overwrite` is set.
        forms: which files to write.
        use: what they are for; only what qualifies is written.
        min_reward: only episodes whose latest verdict is at least this.
        held_out: whether to write episodes of the held-out split too; training on them spoils every measurement.
        query: how `trajectories` were chosen, for the manifest.
        overwrite: whether an export that is there may be replaced.

    Raises:
        RequestError: a form is asked for that the use does not have, or no episode qualifies.
        ConflictError: the folder exists.
        ConfigurationError: the folder cannot be written.
    """
    chosen = tuple(form for form in Form if form in forms)
    _check(chosen, use)
    _check_folder(folder, overwrite=overwrite)
    with _draft_of(folder) as draft:
        writer = _Writer(draft, chosen)
        for trajectory in trajectories:
            reasons = _reasons(trajectory, use, min_reward, held_out=held_out)
            writer.take(trajectory, reasons)
        manifest = writer.manifest(use, _described(query, min_reward, held_out=held_out))
        (draft / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        _put_in_place(draft, folder)
    return manifest


def _check(forms: tuple[Form, ...], use: Use) -> None:
    if not forms:
        raise RequestError("An export needs at least one form.", mend=f"Forms are: {', '.join(Form)}.")
    for form in forms:
        if use not in _USES[form]:
            raise RequestError(
                f"There is no export of form '{form}' for the use '{use}'.",
                mend=f"'{form}' is for: {', '.join(_USES[form])}.",
            )


def _check_folder(folder: Path, *, overwrite: bool) -> None:
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not (folder / MANIFEST).is_file():
        raise ConflictError(f"{folder} exists and is no export.", mend="Name a folder that does not exist yet.")
    if not overwrite:
        raise ConflictError(f"{folder} holds an export already.", mend="Name another folder, or ask to overwrite it.")


def _described(query: JsonObject | None, min_reward: float | None, *, held_out: bool) -> JsonObject:
    return {**(query or {}), "min_reward": min_reward, "held_out": held_out}


def _reasons(trajectory: Trajectory, use: Use, min_reward: float | None, *, held_out: bool) -> tuple[str, ...]:
    """Why an episode is left out of every file."""
    reasons = [reason for found in uses(trajectory) if found.use is use for reason in found.reasons]
    if not held_out and trajectory.metadata.get("split") == Split.HELD_OUT:
        reasons.append("it is of the held-out split")
    if min_reward is not None and (trajectory.reward is None or trajectory.reward < min_reward):
        reasons.append(f"its reward is not at least {min_reward:g}")
    return tuple(reasons)


class _File:
    """One file while it is written."""

    def __init__(self, folder: Path, form: Form) -> None:
        self.form = form
        self.name, self.format = FILES[form]
        self.rows = self.tokens = self.trainable = 0
        self.episodes: dict[str, None] = {}
        self._path = folder / self.name
        self._digest = sha256()
        self._path.touch()

    def write(self, trajectory: Trajectory) -> None:
        """Append an episode, all of its rows or none.

        Raises:
            RequestError: it has no such form.
        """
        lines = _chat_lines(trajectory) if self.form is Form.CHAT else self._token_lines(trajectory)
        with self._path.open("ab") as out:
            for line in lines:
                self._append(out, line)
        self.episodes[trajectory.episode] = None

    def _append(self, out: BinaryIO, line: str) -> None:
        raw = line.encode() + b"\n"
        out.write(raw)
        self._digest.update(raw)
        self.rows += 1

    def _token_lines(self, trajectory: Trajectory) -> list[str]:
        rows = token_rows(trajectory)
        self.tokens += sum(len(row.input_ids) for row in rows)
        self.trainable += sum(row.trainable for row in rows)
        return [row.model_dump_json() for row in rows]

    def described(self) -> ExportedFile:
        """What the manifest says of it."""
        counted = self.form is Form.TOKENS
        return ExportedFile(
            name=self.name,
            form=self.form,
            format=self.format,
            rows=self.rows,
            episodes=tuple(self.episodes),
            tokens=self.tokens if counted else None,
            trainable_tokens=self.trainable if counted else None,
            sha256=self._digest.hexdigest(),
        )


def _chat_lines(trajectory: Trajectory) -> list[str]:
    # ASCII, since some readers of JSON Lines take U+2028 for the end of a line.
    return [json.dumps(chat_row(trajectory))]


class _Writer:
    """The files of an export and what was left out of them."""

    def __init__(self, folder: Path, forms: tuple[Form, ...]) -> None:
        self._files = [_File(folder, form) for form in forms]
        self._excluded: list[Exclusion] = []
        self._seen = 0
        self._models: set[str] = set()
        self._templates: set[str] = set()

    def take(self, trajectory: Trajectory, reasons: tuple[str, ...]) -> None:
        """Write an episode to each file that can hold it, or say why not."""
        self._seen += 1
        if reasons:
            self._excluded.append(Exclusion(episode=trajectory.episode, reasons=reasons))
            return
        for file in self._files:
            try:
                file.write(trajectory)
            except RequestError as error:
                left_out = Exclusion(episode=trajectory.episode, form=file.form, reasons=(error.detail,))
                self._excluded.append(left_out)
            else:
                self._models.update(call.version for call in accepted_calls(trajectory))
                self._templates.update(call.template_hash or "" for call in accepted_calls(trajectory))

    def manifest(self, use: Use, query: JsonObject) -> Manifest:
        """What was written.

        Raises:
            RequestError: nothing was.
        """
        files = tuple(file.described() for file in self._files)
        if not any(file.rows for file in files):
            raise RequestError(
                f"None of {self._seen} episodes can be exported for '{use}'.",
                mend="; ".join(_tally(self._excluded)[:_REASONS_TOLD]) or "Choose from more episodes.",
            )
        return Manifest(
            created=utc_now(),
            use=use,
            query=query,
            seen=self._seen,
            files=files,
            excluded=tuple(self._excluded),
            models=tuple(sorted(self._models)),
            templates=tuple(sorted(self._templates - {""})),
        )


def _tally(excluded: Iterable[Exclusion]) -> list[str]:
    """The reasons and how often each was met, the most frequent first."""
    counts: dict[str, int] = {}
    for reason in (reason for exclusion in excluded for reason in exclusion.reasons):
        counts[reason] = counts.get(reason, 0) + 1
    return [f"{count} x {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1])]


@contextmanager
def _draft_of(folder: Path) -> Generator[Path]:
    """A folder beside `folder`, removed at the end unless it took its place."""
    with _writable(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with _writable(folder):
            yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _writable(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be written: {error.strerror or error}.", mend="Name a folder that can be written."
        ) from error


def _put_in_place(draft: Path, folder: Path) -> None:
    """Make the draft the folder; an export that is replaced is gone only when the new one is there."""
    former = draft.with_name(f"{draft.name}.former")
    replaces = folder.exists()
    if replaces:
        folder.rename(former)
    draft.rename(folder)
    if replaces:
        shutil.rmtree(former)
