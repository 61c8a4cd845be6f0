"""What an episode is good for, every reason against the rest, and which model call each reason is about."""

from practicum.contracts.base import Value
from practicum.contracts.trajectory import Trajectory, Use
from practicum.trajectories.eligibility import Reason, reasons
from practicum.trajectories.graph import CallNode, nodes


class UseExplained(Value):
    """Whether an episode qualifies for a use, and all that speaks against it.

    Attributes:
        use: the use.
        eligible: whether it qualifies.
        reasons: everything against it, with the model call that each is about.
    """

    use: Use
    eligible: bool
    reasons: tuple[Reason, ...] = ()


class Explanation(Value):
    """What an episode is good for, and how its model calls hang together.

    Attributes:
        episode: its id.
        uses: each use.
        calls: its model calls, each after the one that it continues.
    """

    episode: str
    uses: tuple[UseExplained, ...]
    calls: tuple[CallNode, ...]


def explain(trajectory: Trajectory) -> Explanation:
    """What a trajectory is good for, why not for the rest, and the graph of its model calls.

    Args:
        trajectory: the record; what it already says of its uses is not looked at.
    """
    found = reasons(trajectory)
    return Explanation(
        episode=trajectory.episode,
        uses=tuple(UseExplained(use=use, eligible=not against, reasons=against) for use, against in found.items()),
        calls=tuple(
            node.model_copy(
                update={
                    "reasons": tuple(
                        f"{use}: {reason.text}"
                        for use, against in found.items()
                        for reason in against
                        if reason.call == node.call
                    )
                }
            )
            for node in nodes(trajectory)
        ),
    )
