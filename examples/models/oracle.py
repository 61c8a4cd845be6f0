"""Oracle conversations: each task's reference solution, performed in the systems and written as the agent would."""

from examples.models.local import SYSTEM
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tasks import Task
from practicum.tasks import Practice
from practicum_gateway.episodes.observations import told


async def conversation(practice: Practice, task: Task) -> tuple[Message, ...]:
    """The whole conversation of a task solved by its reference solution, system message included.

    Args:
        practice: systems to perform it in; they are put into the task's start state.
        task: the task.
    """
    await practice.load(task.start)
    messages = [Message(role="system", content=SYSTEM), Message(role="user", content=task.prompt)]
    for number, call in enumerate(task.reference, 1):
        made = ToolCall(id=f"call_{number}", name=call.tool, arguments=call.arguments)
        seen = await practice.call(call.tool, call.arguments, key=made.id)
        messages += [
            Message(role="assistant", tool_calls=(made,)),
            Message(role="tool", content=told(seen), tool_call_id=made.id),
        ]
    return (*messages, Message(role="assistant", content=task.conclusion))
