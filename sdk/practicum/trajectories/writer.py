"""The one way in which trajectories become files: row by row, counted and hashed, with what was left out and why."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.trajectory import Trajectory, Use
from practicum.errors import ConflictError, RequestError
from practicum.trajectories.chat import chat_row, messages_row
from practicum.trajectories.eligibility import accepted_calls
from practicum.trajectories.graph import quarantined
from practicum.trajectories.manifest import FILES, MANIFEST, Exclusion, ExportedFile, Form, Manifest
from practicum.trajectories.opening import task_row
from practicum.trajectories.tokens import token_rows

_REASONS_TOLD = 5
_COMPOSED = ("suite", "split", "family")


def check_place(folder: Path, *, overwrite: bool) -> None:
    """Refuse to write where something else is.

    Args:
        folder: where to write.
        overwrite: whether an export that is there may be replaced.

    Raises:
        ConflictError: an export is there and must not be replaced, or anything else is.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not (folder / MANIFEST).is_file():
        raise ConflictError(f"{folder} exists and is no export.", mend="Name a folder that does not exist yet.")
    if not overwrite:
        raise ConflictError(
            f"{folder} holds an export already.", mend="Name another folder, or ask to overwrite it (`--overwrite`)."
        )


class Writer:
    """The files of an export and what was left out of them."""

    def __init__(self, folder: Path, forms: Iterable[Form]) -> None:
        """Begin the files.

        Args:
            folder: where they are written; it is there and empty.
            forms: which to write.
        """
        self._folder = folder
        self._files = [_File(folder, form) for form in forms]
        self._excluded: list[Exclusion] = []
        self._unmatched: Counter[str] = Counter()
        self._seen = 0
        self._models: set[str] = set()
        self._templates: set[str] = set()
        self._systems: set[str] = set()
        self._composition: dict[str, Counter[str]] = {}

    def skip(self, conditions: Iterable[str]) -> None:
        """Count an episode that was not asked for, by the conditions that it does not meet."""
        self._seen += 1
        self._unmatched.update(conditions)

    def take(self, trajectory: Trajectory, reasons: tuple[str, ...]) -> None:
        """Write an episode to each file that can hold it, or say why not.

        Args:
            trajectory: the episode.
            reasons: why it is left out of all of them; empty to write it.
        """
        self._seen += 1
        if reasons:
            self._excluded.append(Exclusion(episode=trajectory.episode, reasons=reasons))
            return
        written = False
        for file in self._files:
            try:
                file.write(trajectory)
            except RequestError as error:
                left_out = Exclusion(episode=trajectory.episode, form=file.form, reasons=(error.detail,))
                self._excluded.append(left_out)
            else:
                written = True
        if written:
            self._describe(trajectory)

    def _describe(self, trajectory: Trajectory) -> None:
        calls = accepted_calls(trajectory)
        self._models.update(call.version for call in calls)
        self._templates.update(call.template_hash or "" for call in calls)
        first = next(iter(trajectory.messages), None)
        self._systems.add(first.content or "" if first is not None and first.role == "system" else "")
        for name in _COMPOSED:
            if value := trajectory.metadata.get(name):
                self._composition.setdefault(name, Counter())[value] += 1

    def finish(self, use: Use, query: JsonObject, *, name: str | None = None) -> Manifest:
        """Write the manifest beside the files.

        Args:
            use: what they are for.
            query: how their episodes were chosen.
            name: the dataset's name, if it has one.

        Raises:
            RequestError: nothing was written.
        """
        files = tuple(file.described() for file in self._files)
        if not any(file.rows for file in files):
            raise RequestError(
                f"None of {self._seen} episodes can be exported for '{use}'.",
                mend="; ".join(self._why()[:_REASONS_TOLD]) or "Choose from more episodes.",
            )
        manifest = Manifest(
            name=name,
            created=utc_now(),
            use=use,
            query=query,
            seen=self._seen,
            unmatched=dict(self._unmatched),
            files=files,
            composition={name: dict(sorted(found.items())) for name, found in self._composition.items()},
            excluded=tuple(self._excluded),
            quarantined={episode: calls for file in self._files for episode, calls in file.quarantined.items()},
            models=tuple(sorted(self._models)),
            templates=tuple(sorted(self._templates - {""})),
            systems=tuple(sorted(self._systems)),
        )
        (self._folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        return manifest

    def _why(self) -> list[str]:
        counts = {f"not {condition}": count for condition, count in self._unmatched.items()}
        return tally({**counts, **reasons_of(self._excluded)})


def reasons_of(excluded: Iterable[Exclusion]) -> Counter[str]:
    """How often each reason was met."""
    return Counter(reason for exclusion in excluded for reason in exclusion.reasons)


def tally(counts: Mapping[str, int]) -> list[str]:
    """Reasons with how often each was met, the most frequent first."""
    return [f"{count} x {reason}" for reason, count in sorted(counts.items(), key=lambda item: -item[1])]


class _File:
    """One file while it is written."""

    def __init__(self, folder: Path, form: Form) -> None:
        self.form = form
        self.name, self.format = FILES[form]
        self.rows = self.tokens = self.trainable = 0
        self.episodes: dict[str, None] = {}
        self.quarantined: dict[str, tuple[str, ...]] = {}
        self._tasks: set[tuple[str, str]] = set()
        self._path = folder / self.name
        self._digest = sha256()
        self._path.touch()

    def write(self, trajectory: Trajectory) -> None:
        """Append an episode, all of its rows or none.

        Raises:
            RequestError: it has no such form.
        """
        lines = self._lines(trajectory)
        with self._path.open("ab") as out:
            for line in lines:
                self._append(out, line)
        self.episodes[trajectory.episode] = None

    def _append(self, out: BinaryIO, line: str) -> None:
        raw = line.encode() + b"\n"
        out.write(raw)
        self._digest.update(raw)
        self.rows += 1

    def _lines(self, trajectory: Trajectory) -> list[str]:
        # JSON is written in ASCII, since some readers of JSON Lines take U+2028 for the end of a line.
        match self.form:
            case Form.CHAT:
                return [json.dumps(chat_row(trajectory))]
            case Form.MESSAGES:
                return [json.dumps(messages_row(trajectory))]
            case Form.TOKENS:
                return self._token_lines(trajectory)
            case Form.TASKS:
                return [self._task_line(trajectory)]

    def _token_lines(self, trajectory: Trajectory) -> list[str]:
        rows = token_rows(trajectory)
        self.tokens += sum(len(row.input_ids) for row in rows)
        self.trainable += sum(row.trainable for row in rows)
        if left_out := quarantined(trajectory.model_calls):
            self.quarantined[trajectory.episode] = tuple(sorted(left_out))
        return [row.model_dump_json() for row in rows]

    def _task_line(self, trajectory: Trajectory) -> str:
        row = task_row(trajectory)
        if (row.suite, row.task) in self._tasks:
            raise RequestError("its task is there already")
        self._tasks.add((row.suite, row.task))
        return json.dumps(row.model_dump(mode="json"))

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
