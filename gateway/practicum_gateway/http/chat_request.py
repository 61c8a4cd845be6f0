"""Chat completion requests in OpenAI's form, read strictly: what the gateway would not do it does not take."""

from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import Sampling
from practicum.contracts.tools import Effect, Tool
from practicum_gateway.episodes.chat import Ask
from practicum_gateway.models.chat_format import incoming_call

Name = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
"""The name of a tool, or of a form."""
Effort = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}$")]
"""How much is thought before the answer, in the provider's own word."""
_NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}


def _without_nulls(value: Any) -> Any:
    """Clients echo fields that they leave empty; an empty field says nothing."""
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]  # keys of a JSON object
    return {name: content for name, content in fields.items() if content is not None and content != []}


def _kind_of(part: Any) -> Any:
    """What a part of a content says it is; None where it says nothing."""
    if not isinstance(part, dict):
        return None
    fields: dict[str, Any] = part  # pyright: ignore[reportUnknownVariableType]  # keys of a JSON object
    return fields.get("type")


class Read(BaseModel):
    """What is read: an unknown field is an error, an empty one says nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return _without_nulls(value)


class TextPart(Read):
    """A piece of text; other kinds of parts are not taken."""

    type: Literal["text"]
    text: str


class FunctionCall(Read):
    """What a call calls."""

    name: str
    arguments: str = ""


class ChatCall(Read):
    """A call of an assistant's message."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatMessage(Read):
    """One message."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | tuple[TextPart, ...] | None = None
    tool_calls: tuple[ChatCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _only_text(cls, content: Any) -> Any:
        """Say it in a word, instead of what of each form a content may have does not fit."""
        if isinstance(content, list) and any(
            _kind_of(part) not in ("text", None) for part in cast("list[Any]", content)
        ):
            raise ValueError("parts of type `text` alone are taken, no `image_url`, `input_audio` or `file`")
        return cast("Any", content)

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


class Function(Read):
    """What a tool does."""

    name: Name
    description: str = ""
    parameters: JsonObject = Field(default_factory=lambda: dict(_NO_ARGUMENTS))
    strict: bool | None = None


class ToolDefinition(Read):
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


class StreamOptions(Read):
    """How a stream is to be."""

    include_usage: bool = False
    include_obfuscation: Literal[False] = False


class PlainText(Read):
    """An answer in words, which is what every model gives by itself."""

    type: Literal["text"]


class AnyObject(Read):
    """An answer that is some JSON object."""

    type: Literal["json_object"]


class AnswerSchema(Read):
    """What an answer has to fit."""

    name: Name
    description: str | None = None
    schema_: JsonObject = Field(alias="schema")
    strict: bool | None = None


class FittingObject(Read):
    """An answer that is JSON and fits a schema."""

    type: Literal["json_schema"]
    json_schema: AnswerSchema


class NamedFunction(Read):
    """A function by its name."""

    name: str


class NamedTool(Read):
    """The one tool that has to be called."""

    type: Literal["function"]
    function: NamedFunction


class ChatRequest(Read):
    """A chat completion request.

    Where the model is split among versions, the same `user` gets the same one; without, the caller's principal draws.
    What an answer is held to (`stop`, a `tool_choice`, `parallel_tool_calls: false`, a `response_format`) is the
    provider's to keep; a model that cannot be held to it refuses the request.

    Fields below the line change nothing here and are taken with these values only, so that clients which always send
    them work and nobody believes in a knob that does nothing.
    """

    model: str
    messages: tuple[ChatMessage, ...] = Field(json_schema_extra={"minItems": 1})
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | NamedTool = "auto"
    parallel_tool_calls: bool = True
    response_format: PlainText | AnyObject | FittingObject = Field(default=PlainText(type="text"), discriminator="type")
    reasoning_effort: Effort | None = None
    stop: str | Annotated[tuple[str, ...], Field(max_length=4)] | None = None
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
    presence_penalty: float = Field(default=0, ge=0, le=0)
    frequency_penalty: float = Field(default=0, ge=0, le=0)
    logprobs: Literal[False] = False
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
        chosen = self.tool_choice.function.name if isinstance(self.tool_choice, NamedTool) else None
        if chosen is not None and chosen not in {tool.function.name for tool in self.tools}:
            raise ValueError("tool_choice names a tool that is not among the tools")
        if self.tool_choice == "required" and not self.tools:
            raise ValueError("tool_choice requires a tool, and there is none among the tools")
        if not self.parallel_tool_calls and not self.tools:
            raise ValueError("parallel_tool_calls is about tools, and there are none")
        return self

    def ask(self) -> Ask:
        """What is asked, in the words of the house."""
        offered = () if self.tool_choice == "none" else self.tools
        return Ask(
            model=self.model,
            messages=tuple(message.read() for message in self.messages),
            tools=tuple(tool.read() for tool in offered),
            definitions=tuple(_plain(tool) for tool in offered),
            sampling=Sampling(
                temperature=self.temperature,
                top_p=self.top_p,
                max_tokens=self.max_tokens or self.max_completion_tokens,
                seed=self.seed,
                stop=(self.stop,) if isinstance(self.stop, str) else self.stop,
                tool_choice=self._chosen(),
                # The usual, said aloud, is no other question than the same unsaid.
                parallel_tool_calls=False if offered and not self.parallel_tool_calls else None,
                response_format=None if isinstance(self.response_format, PlainText) else _plain(self.response_format),
                reasoning_effort=self.reasoning_effort,
            ),
            user=self.user,
        )

    def _chosen(self) -> Literal["required"] | JsonObject | None:
        if isinstance(self.tool_choice, NamedTool):
            return _plain(self.tool_choice)
        return "required" if self.tool_choice == "required" else None


def _plain(value: BaseModel) -> JsonObject:
    """A part as its caller wrote it."""
    return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
