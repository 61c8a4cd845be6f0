"""Chat completion requests in OpenAI's form, read strictly: what the gateway would not do it does not take."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import Sampling
from practicum.contracts.tools import Effect, Tool
from practicum_gateway.episodes.chat import Ask
from practicum_gateway.models.chat_format import incoming_call

_NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}


def _without_nulls(value: Any) -> Any:
    """Clients echo fields that they leave empty; an empty field says nothing."""
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]  # keys of a JSON object
    return {name: content for name, content in fields.items() if content is not None and content != []}


class _Read(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return _without_nulls(value)


class TextPart(_Read):
    """A piece of text; other kinds of parts are not taken."""

    type: Literal["text"]
    text: str


class FunctionCall(_Read):
    """What a call calls."""

    name: str
    arguments: str = ""


class ChatCall(_Read):
    """A call of an assistant's message."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatMessage(_Read):
    """One message."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | tuple[TextPart, ...] | None = None
    tool_calls: tuple[ChatCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.role == "tool" and self.tool_call_id is None:
            raise ValueError("a tool message needs the tool_call_id of the call that it answers")
        if self.role != "tool" and self.tool_call_id is not None:
            raise ValueError("only a tool message has a tool_call_id")
        if self.role != "assistant" and self.tool_calls:
            raise ValueError("only an assistant's message has tool_calls")
        return self

    def read(self) -> Message:
        """The message as the house knows it; a developer's words are a system's."""
        content = self.content if isinstance(self.content, str) else "\n".join(part.text for part in self.content or ())
        return Message(
            role="system" if self.role == "developer" else self.role,
            content=content or (None if self.role == "assistant" else ""),
            tool_calls=tuple(
                incoming_call(call.id, call.function.name, call.function.arguments) for call in self.tool_calls
            ),
            tool_call_id=self.tool_call_id,
        )


class Function(_Read):
    """What a tool does."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str = ""
    parameters: JsonObject = Field(default_factory=lambda: dict(_NO_ARGUMENTS))
    strict: bool | None = None


class ToolDefinition(_Read):
    """A tool on offer."""

    type: Literal["function"]
    function: Function

    def read(self) -> Tool:
        """The tool as a provider sees it; the gateway itself cannot call it."""
        return Tool(
            name=self.function.name,
            connector="caller",
            operation=self.function.name,
            description=self.function.description,
            input_schema=self.function.parameters,
            effect=Effect.EXTERNAL,
            method="",
            path="",
        )


class StreamOptions(_Read):
    """How a stream is to be."""

    include_usage: bool = False
    include_obfuscation: Literal[False] = False


class PlainText(_Read):
    """The only form of answer."""

    type: Literal["text"] = "text"


class ChatRequest(_Read):
    """A chat completion request.

    Where the model is split among versions, the same `user` gets the same one; without, the caller's principal draws.

    Fields below the line change nothing here and are taken with these values only, so that clients which always send
    them work and nobody believes in a knob that does nothing.
    """

    model: str
    messages: tuple[ChatMessage, ...] = Field(json_schema_extra={"minItems": 1})
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    user: str | None = None

    # ---
    n: Literal[1] = 1
    parallel_tool_calls: Literal[True] = True
    presence_penalty: float = Field(default=0, ge=0, le=0)
    frequency_penalty: float = Field(default=0, ge=0, le=0)
    logprobs: Literal[False] = False
    response_format: PlainText = PlainText()
    metadata: dict[str, str] | None = None
    store: bool | None = None
    service_tier: Literal["auto", "default"] | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.messages:
            raise ValueError("there has to be a message")
        if self.max_tokens is not None and self.max_completion_tokens not in (None, self.max_tokens):
            raise ValueError("max_tokens and max_completion_tokens differ")
        return self

    def ask(self) -> Ask:
        """What is asked, in the words of the house."""
        offered = self.tools if self.tool_choice == "auto" else ()
        return Ask(
            model=self.model,
            messages=tuple(message.read() for message in self.messages),
            tools=tuple(tool.read() for tool in offered),
            definitions=tuple(tool.model_dump(mode="json", exclude_unset=True) for tool in offered),
            sampling=Sampling(
                temperature=self.temperature,
                top_p=self.top_p,
                max_tokens=self.max_tokens or self.max_completion_tokens,
                seed=self.seed,
            ),
            user=self.user,
        )
