"""Writes trajectories to files that a trainer takes, whole or not at all, and says what was left out."""

from collections.abc import Collection, Iterable
from pathlib import Path

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import Split
from practicum.contracts.trajectory import Trajectory, Use
from practicum.errors import RequestError
from practicum.files import whole_folder
from practicum.trajectories.eligibility import uses
from practicum.trajectories.manifest import Form, Manifest
from practicum.trajectories.writer import Writer, check_place

_USES = {
    Form.CHAT: (Use.SFT,),
    Form.MESSAGES: (Use.SFT,),
    Form.TOKENS: (Use.SFT, Use.RL),
    Form.TASKS: (Use.RL,),
}


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
    check_place(folder, overwrite=overwrite)
    with whole_folder(folder) as draft:
        writer = Writer(draft, chosen)
        for trajectory in trajectories:
            writer.take(trajectory, _reasons(trajectory, use, min_reward, held_out=held_out))
        return writer.finish(use, {**(query or {}), "min_reward": min_reward, "held_out": held_out})


def held_out_reasons(trajectory: Trajectory, *, allowed: bool) -> tuple[str, ...]:
    """Why an episode must not be trained on, for the side of the line that it is on."""
    held_out = trajectory.metadata.get("split") == Split.HELD_OUT
    return ("it is of the held-out split",) if held_out and not allowed else ()


def use_reasons(trajectory: Trajectory, use: Use) -> tuple[str, ...]:
    """Why an episode does not qualify for a use."""
    return tuple(reason for found in uses(trajectory) if found.use is use for reason in found.reasons)


def _check(forms: tuple[Form, ...], use: Use) -> None:
    if not forms:
        raise RequestError("An export needs at least one form.", mend=f"Forms are: {', '.join(Form)}.")
    for form in forms:
        if use not in _USES[form]:
            raise RequestError(
                f"There is no export of form '{form}' for the use '{use}'.",
                mend=f"'{form}' is for: {', '.join(_USES[form])}.",
            )


def _reasons(trajectory: Trajectory, use: Use, min_reward: float | None, *, held_out: bool) -> tuple[str, ...]:
    """Why an episode is left out of every file."""
    reasons = [*use_reasons(trajectory, use), *held_out_reasons(trajectory, allowed=held_out)]
    if min_reward is not None and (trajectory.reward is None or trajectory.reward < min_reward):
        reasons.append(f"its reward is not at least {min_reward:g}")
    return tuple(reasons)
