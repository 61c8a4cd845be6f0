"""What the demo leaves for training: its episodes as files, and what they may be used for."""

from collections.abc import Sequence
from pathlib import Path

from practicum.client import Practicum
from practicum.trajectories import Form, Manifest, export


def write_dataset(client: Practicum, episodes: Sequence[str], folder: Path) -> Manifest:
    """Export episodes as chat rows and, where tokens were recorded, token-exact rows.

    Args:
        client: reads the record.
        episodes: ids of the episodes.
        folder: where to; an export of an earlier run is replaced.

    Raises:
        RequestError: none of them qualifies.
        ConfigurationError: the folder cannot be written.
    """
    return export(
        (client.trajectories.get(episode) for episode in episodes),
        folder,
        forms=(Form.CHAT, Form.TOKENS),
        min_reward=1.0,
        held_out=True,  # to show the form; the demo says on the screen that nobody should train on these
        overwrite=True,
    )
