"""Requests of OpenAI's Responses API, read strictly, as the chat completions that they are.

What is taken is the part that keeps nothing between requests: each brings its whole conversation. What would need
something kept (`previous_response_id`, `conversation`, `background`), and tools that OpenAI itself runs, is refused.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from practicum.contracts.base import JsonObject
from practicum_gateway.http.chat_request import (
    AnyObject,
    ChatCall,
    ChatMessage,
    ChatRequest,
    Effort,
    FittingObject,
    Function,
    FunctionCall,
    Name,
    NamedFunction,
    NamedTool,
    PlainText,
    Read,
    TextPart,
    ToolDefinition,
)

_KEEPING = ("previous_response_id", "conversation", "background", "prompt")
_STATELESS = (
    "the gateway keeps no response for a later request: leave {} out and send the whole conversation as `input`, or "
    "use chat completions"
)


class Part(Read):
    """A piece of text; other kinds of parts are not taken."""

    type: Literal["input_text", "output_text", "text"]
    text: str
    annotations: tuple[()] = ()
    logprobs: tuple[()] = ()


class Said(Read):
    """A message."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[Part, ...] = ""
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class Called(Read):
    """A call that the model wished for."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str = ""
    id: str | None = None
    status: str | None = None
    namespace: None = None


class Told(Read):
    """What a call came to."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | tuple[Part, ...] = ""
    id: str | None = None
    status: str | None = None


def _kind(item: Any) -> str | None:
    """Of which kind an item is: one without a type is a message."""
    if isinstance(item, dict):
        return str(cast("JsonObject", item).get("type") or "message")
    return getattr(item, "type", None)


Item = Annotated[
    Annotated[Said, Tag("message")]
    | Annotated[Called, Tag("function_call")]
    | Annotated[Told, Tag("function_call_output")],
    Discriminator(_kind),
]


class FunctionTool(Read):
    """A tool on offer."""

    type: Literal["function"]
    name: Name
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None

    def read(self) -> ToolDefinition:
        """The tool as chat completions define it."""
        given = self.model_dump(include=self.model_fields_set - {"type"})
        return ToolDefinition(type="function", function=Function(**given))


class ChosenTool(Read):
    """The one tool that has to be called."""

    type: Literal["function"]
    name: str


class FittingText(Read):
    """An answer that is JSON and fits a schema."""

    type: Literal["json_schema"]
    name: Name
    schema_: JsonObject = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


class TextForm(Read):
    """The form of the answer's text."""

    format: Annotated[PlainText | AnyObject | FittingText, Field(discriminator="type")] = PlainText(type="text")
    verbosity: Literal["medium"] | None = None


class Reasoning(Read):
    """How much is thought before the answer."""

    effort: Effort | None = None


class ResponsesStreamOptions(Read):
    """How a stream is to be."""

    include_obfuscation: Literal[False] = False


class ResponsesRequest(Read):
    """A request of the Responses API.

    Fields below the line change nothing here and are taken with these values only.
    """

    model: str
    input: str | Annotated[tuple[Item, ...], Field(min_length=1)]
    instructions: str | None = None
    tools: tuple[FunctionTool, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | ChosenTool = "auto"
    parallel_tool_calls: bool = True
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    text: TextForm = TextForm()
    reasoning: Reasoning = Reasoning()
    stream: bool = False
    user: str | None = None

    # ---
    include: tuple[Literal["reasoning.encrypted_content"], ...] = ()
    stream_options: ResponsesStreamOptions = ResponsesStreamOptions()
    truncation: Literal["disabled"] = "disabled"
    top_logprobs: Literal[0] = 0
    metadata: dict[str, str] | None = None
    store: bool | None = None
    service_tier: Literal["auto", "default"] | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _refuse_state(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given = cast("JsonObject", value)
        asked = [name for name in _KEEPING if given.get(name)]
        if asked:
            raise ValueError(_STATELESS.format(" and ".join(f"`{name}`" for name in asked)))
        return {name: part for name, part in given.items() if name not in _KEEPING}

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            self.chat()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ValueError(first["msg"].removeprefix("Value error, ")) from None
        return self

    def chat(self) -> ChatRequest:
        """The chat completion that it asks for."""
        messages = (*self._instructed(), *self._conversation())
        given: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "tools": tuple(tool.read() for tool in self.tools),
            "tool_choice": self._chosen(),
            "parallel_tool_calls": self.parallel_tool_calls,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_completion_tokens": self.max_output_tokens,
            "response_format": self._form(),
            "reasoning_effort": self.reasoning.effort,
            "user": self.user,
        }
        return ChatRequest(**given)

    def _instructed(self) -> Iterator[ChatMessage]:
        if self.instructions:
            yield ChatMessage(role="system", content=self.instructions)

    def _conversation(self) -> Iterable[ChatMessage]:
        if isinstance(self.input, str):
            return (ChatMessage(role="user", content=self.input),)
        return _messages(self.input)

    def _chosen(self) -> Literal["auto", "none", "required"] | NamedTool:
        if isinstance(self.tool_choice, ChosenTool):
            return NamedTool(type="function", function=NamedFunction(name=self.tool_choice.name))
        return self.tool_choice

    def _form(self) -> PlainText | AnyObject | FittingObject:
        form = self.text.format
        if not isinstance(form, FittingText):
            return form
        schema = form.model_dump(include=form.model_fields_set - {"type"}, by_alias=True)
        return FittingObject.model_validate({"type": "json_schema", "json_schema": schema})


def _messages(items: Iterable[Said | Called | Told]) -> Iterator[ChatMessage]:
    """The messages that items tell of: what the model said and wished for in one turn is one message."""
    turn: ChatMessage | None = None
    for item in items:
        if isinstance(item, Called):
            wish = ChatCall(id=item.call_id, function=FunctionCall(name=item.name, arguments=item.arguments))
            turn = turn or ChatMessage(role="assistant")
            turn = turn.model_copy(update={"tool_calls": (*turn.tool_calls, wish)})
            continue
        if turn is not None:
            yield turn
            turn = None
        if isinstance(item, Told):
            yield ChatMessage(role="tool", content=_text(item.output), tool_call_id=item.call_id)
        elif item.role == "assistant":
            turn = ChatMessage(role="assistant", content=_text(item.content))
        else:
            yield ChatMessage(role=item.role, content=_text(item.content))
    if turn is not None:
        yield turn


def _text(content: str | tuple[Part, ...]) -> str | tuple[TextPart, ...]:
    return content if isinstance(content, str) else tuple(TextPart(type="text", text=part.text) for part in content)
