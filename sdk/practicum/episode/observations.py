"""What the model reads of an observation. Pure."""

import json

from practicum.contracts.tools import Observation


def told(observation: Observation) -> str:
    """An observation as the text of a tool message."""
    text = observation.content
    if observation.next is not None:
        arguments = json.dumps(observation.next, ensure_ascii=False)
        text += f"\n[There is more. The same tool gives the next page with: {arguments}]"
    elif observation.truncated:
        text += "\n[Some items were left out: the answer was too long.]"
    return text
