"""Oracle conversations: each task's reference solution, performed in the systems and written as the agent would."""

from examples.models.practice import SYSTEM, Practice
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tasks import Task


async def conversation(practice: Practice, task: Task) -> tuple[Message, ...]:
    """The whole conversation of a task solved by its reference solution, opening included."""
    await practice.load(task)
    messages = [Message(role="system", content=SYSTEM), Message(role="user", content=task.prompt)]
    for number, call in enumerate(task.reference, 1):
        made = ToolCall(id=f"call_{number}", name=call.tool, arguments=call.arguments)
        _, answer = await practice.call(made)
        messages += [
            Message(role="assistant", tool_calls=(made,)),
            Message(role="tool", content=answer, tool_call_id=made.id),
        ]
    return (*messages, Message(role="assistant", content=task.conclusion))
