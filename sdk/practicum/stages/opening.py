"""How an episode's conversation begins: who the model is, a solved task or two, the task. Pure."""

from collections.abc import Sequence

from practicum.contracts.messages import Message
from practicum.contracts.models import ModelSpec

DEFAULT_SYSTEM = (
    "You do tasks in a company's systems with the tools you are given. Find out what you need to know by calling "
    "tools, do what the task asks and nothing else, and then answer in one or two sentences without calling a tool."
)


def opening(task: str, spec: ModelSpec, shown: Sequence[Sequence[Message]] = ()) -> tuple[Message, ...]:
    """The messages before the model's first turn.

    Args:
        task: what to do.
        spec: the model; an empty `system` sends no system message.
        shown: solved conversations to put before the task, the nearest last; see `practicum.stages.retrieval`.
    """
    system = DEFAULT_SYSTEM if spec.system is None else spec.system
    before = (Message(role="system", content=system),) if system else ()
    examples = tuple(message for solved in shown for message in solved)
    return (*before, *examples, Message(role="user", content=task))
