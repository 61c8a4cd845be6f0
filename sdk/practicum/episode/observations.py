"""What the model reads of an observation. Pure."""

import json

from practicum.contracts.tools import CallStatus, Observation


def told(observation: Observation) -> str:
    """An observation as the text of a tool message."""
    text = observation.content
    if observation.next is not None:
        text += f"\n[There is more. The same tool gives the next page with: {_arguments(observation.next)}]"
    elif observation.truncated:
        text += "\n[Some items were left out: the answer was too long.]"
    # Told only where the call may have to be undone: of every write it would cost tokens that are hardly ever wanted.
    if observation.compensation is not None and observation.status is CallStatus.IN_DOUBT:
        undoing = json.dumps(observation.compensation.arguments, ensure_ascii=False)
        text += f"\n[If it took effect, {observation.compensation.tool} undoes it with: {undoing}]"
    return text


def _arguments(following: str) -> str:
    """The arguments of the next page: a handle goes into `next`; arguments written out stand for themselves."""
    return following if following.startswith("{") else json.dumps({"next": following}, ensure_ascii=False)
