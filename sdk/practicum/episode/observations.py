"""What the model reads of an observation. Pure."""

import json

from practicum.contracts.tools import Observation


def told(observation: Observation) -> str:
    """An observation as the text of a tool message."""
    text = observation.content
    if observation.next is not None:
        text += f"\n[There is more. The same tool gives the next page with: {_arguments(observation.next)}]"
    elif observation.truncated:
        text += "\n[Some items were left out: the answer was too long.]"
    return text


def _arguments(following: str) -> str:
    """The arguments of the next page: a handle goes into `next`; arguments written out stand for themselves."""
    return following if following.startswith("{") else json.dumps({"next": following}, ensure_ascii=False)
