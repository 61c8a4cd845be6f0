"""By what names a durable episode is started and reached; the gateway and the worker agree on them here."""

WORKFLOW = "practicum.Episode"
"""Workflow type; it takes one `EpisodeStart` and returns an `EpisodeResult` without answer."""

DECIDE = "decide"
"""Update with one `ApprovalDecision`; refused with an `ApplicationError` whose type is a `practicum.episode.Refusal`.

It may be refused as unknown when the answer overtakes the call's own receipt: nudge then, as after a time-out.
"""

NUDGE = "nudge"
"""Signal without argument: a call that waits is made again. Never refused, safe to repeat, kept for a worker."""

STATE = "state"
"""Query; returns the `EpisodeState`."""

TASK_QUEUE = "practicum"
"""Task queue unless the settings say otherwise."""


def workflow_id(episode: str) -> str:
    """The workflow's id of an episode."""
    return f"episode-{episode}"
