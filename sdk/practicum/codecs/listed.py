"""Dialects whose calls are one JSON list behind a mark.

`granite` (IBM's Granite 3):

<|start_of_role|>system<|end_of_role|>...<|end_of_text|>
<|start_of_role|>available_tools<|end_of_role|>[...]<|end_of_text|>
<|start_of_role|>user<|end_of_role|>Where is order 1042?<|end_of_text|>
<|start_of_role|>assistant<|end_of_role|><|tool_call|>[{"name": "crm_get_order", "arguments": {"order_id": 1042}}]

`phi4-mini`: `<|tool_call|>[{...}]<|/tool_call|>` between `<|assistant|>` and `<|end|>`.

`mistral` (7B v0.3, Nemo, Small and Large of 2024): `[TOOL_CALLS][{"name": ..., "arguments": ..., "id": ...}]</s>`.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from practicum.codecs.codec import Piece
from practicum.codecs.family import Family, Opening, control
from practicum.codecs.grammar import Grammar, literal, object_call, words
from practicum.codecs.reading import Found, as_object, decoded, items, value_at, written
from practicum.codecs.signatures import function_of
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

_CALLS_PER_TURN = 8
_IDENTITY = 9
"""Letters and digits of a call's id, as Mistral's models have it."""
_USE = "Do the task by calling tools. To call, write {mark} and one JSON list of calls, {form}, and nothing else."
_FORM = '[{"name": <name of the tool>, "arguments": <object with its arguments>}]'


class _Listed(Family):
    """Words, then the mark and a list; the subclasses say what stands around."""

    mark: str
    closing: str = ""

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """Words, or a list of well-formed calls of these tools behind its mark."""
        if not tools:
            return None
        grammar = Grammar()
        call = object_call(grammar, tools)
        grammar.add("calls", f'{literal(self.mark)} ws "[" {call} ("," ws {call}){{0,{_CALLS_PER_TURN - 1}}} "]"')
        grammar.add("words", words(self.mark))
        return grammar.text(f"calls {literal(self.closing)} | words" if self.closing else "calls | words")

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        if content:
            yield Piece(content)
        if not calls:
            return
        if calls[0].malformed is None or self.mark not in calls[0].malformed:
            yield from (*control(self.mark), Piece("["))
        for place, call in enumerate(calls):
            yield Piece(", " if place else "")
            yield Piece(written(self._object(call)) if call.malformed is None else call.malformed)
        if all(call.malformed is None for call in calls):
            yield from (Piece("]"), *(control(self.closing) if self.closing else ()))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        del tools
        before, found, after = text.partition(self.mark)
        yield before
        while found:
            rest = ""
            for part in items(after):
                if isinstance(part, str):
                    rest = part.replace(self.closing, "", 1) if self.closing else part
                    continue
                # Where not even the list's first call can be read, the mark belongs to what was written wrongly.
                nothing = part.arguments is None and part.text == after
                yield Found(self.mark + part.text, part.name) if nothing else part
            before, found, after = rest.partition(self.mark)
            yield before

    def _object(self, call: ToolCall) -> JsonObject:
        return {"name": call.name, "arguments": call.arguments}

    def _heard(self, message: Message) -> Iterator[Piece]:
        return self._turn(message.role, message.content or "")

    @abstractmethod
    def _turn(self, role: str, text: str) -> Iterator[Piece]: ...


class Granite(_Listed):
    """Granite 3: see the module's picture."""

    name = "granite"
    mark = "<|tool_call|>"
    stops = ("<|end_of_text|>",)
    marks = (mark,)
    begins = (mark,)
    thinking = ("<think>", "</think>")

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        use = _USE.format(mark="its mark", form=_FORM) if tools else ""
        head = "\n\n".join(part for part in (system, use) if part)
        listed = written([function_of(tool) for tool in tools])
        return (
            *(self._turn("system", head) if head else ()),
            *(self._turn("available_tools", listed) if tools else ()),
        ), rest

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        for told in run:
            yield from self._turn("tool_response", told.content or "")

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return _role("assistant")

    def _between(self) -> tuple[Piece, ...]:
        return (Piece("\n"),)

    def _turn(self, role: str, text: str) -> Iterator[Piece]:
        yield from (*_role(role), *((Piece(text),) if text else ()), *control(*self.stops), Piece("\n"))


class Phi4Mini(_Listed):
    """Phi-4-mini; it may write `functools` in the mark's place."""

    name = "phi4-mini"
    mark, closing = "<|tool_call|>", "<|/tool_call|>"
    stops = ("<|end|>", "<|endoftext|>")
    marks = (mark, closing)
    begins = (mark,)
    leads = ("functools[",)

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        use = _USE.format(mark="your mark for calls", form=_FORM) if tools else ""
        head = "\n\n".join(part for part in (system, use) if part)
        listed = (*control("<|tool|>"), Piece(written([function_of(tool) for tool in tools])), *control("<|/tool|>"))
        if not head:
            return (), rest
        return (*control("<|system|>"), Piece(head), *(listed if tools else ()), *control("<|end|>")), rest

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        for told in run:
            yield from self._turn("tool_response", told.content or "")

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return control("<|assistant|>")

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        return super()._read(re.sub(r"\A\s*functools(?=\[)", self.mark, text), tools)

    def _turn(self, role: str, text: str) -> Iterator[Piece]:
        yield from (*control(f"<|{role}|>"), *((Piece(text),) if text else ()), *control(self.stops[0]))


class Mistral(_Listed):
    """Mistral's models of 2024, with the tekken tokenizer's spacing: none."""

    name = "mistral"
    mark = "[TOOL_CALLS]"
    stops = ("</s>",)
    marks = (mark,)
    begins = (mark,)

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        listed = (Piece(written([{"type": "function", "function": function_of(tool)} for tool in tools])),)
        told = (*control("[AVAILABLE_TOOLS]"), *listed, *control("[/AVAILABLE_TOOLS]")) if tools else ()
        texts: tuple[str, ...] = (system,)
        if rest and rest[0].role == "user":
            texts, rest = (f"{system}\n\n" if system else "", rest[0].content or ""), rest[1:]
        said = (Piece(text) for text in texts if text)
        first = (*control("[INST]"), *said, *control("[/INST]")) if any(texts) else ()
        return (*control("<s>"), *told, *first), rest

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        for told in run:
            result = f'{{"content": {_json(told.content or "")}, "call_id": "{_identity(told.tool_call_id or "")}"}}'
            yield from (*control("[TOOL_RESULTS]"), Piece(result), *control("[/TOOL_RESULTS]"))

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return ()

    def _object(self, call: ToolCall) -> JsonObject:
        return {**super()._object(call), "id": _identity(call.id)}

    def _turn(self, role: str, text: str) -> Iterator[Piece]:
        del role
        yield from (*control("[INST]"), *((Piece(text),) if text else ()), *control("[/INST]"))


class MistralArgs(Mistral):
    """Mistral's models since 2025 (Small 3.2, Devstral, Magistral, Ministral 3): `[TOOL_CALLS]name[ARGS]{...}`."""

    name = "mistral-args"
    marks = (Mistral.mark, "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]")
    thinking = ("[THINK]", "[/THINK]")

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """None: its names stand outside of the JSON."""
        del tools
        return None

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        listed = (Piece(written([{"type": "function", "function": function_of(tool)} for tool in tools])),)
        told = (*control("[AVAILABLE_TOOLS]"), *listed, *control("[/AVAILABLE_TOOLS]")) if tools else ()
        head = (*control("[SYSTEM_PROMPT]"), Piece(system), *control("[/SYSTEM_PROMPT]")) if system else ()
        return (*control("<s>"), *head, *told), rest

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        for told in run:
            text = (Piece(told.content),) if told.content else ()
            yield from (*control("[TOOL_RESULTS]"), *text, *control("[/TOOL_RESULTS]"))

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece(content)
        for call in calls:
            if call.malformed is not None:
                yield Piece(call.malformed)
                continue
            yield from (*control(self.mark), Piece(call.name), *control("[ARGS]"), Piece(written(call.arguments)))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        before, found, after = text.partition(self.mark)
        yield before
        while found:
            if after.lstrip().startswith("["):  # as the models before wrote it
                yield from super()._read(self.mark + after, tools)
                return
            named = _NAMED.match(after)
            name = "" if named is None else named["name"]
            try:
                value, end = value_at(after, len(after) if named is None else named.end())
                yield Found(self.mark + after[:end], name, as_object(value))
            except ValueError:
                end = place if (place := after.find(self.mark)) >= 0 else len(after)
                yield Found(self.mark + after[:end], name)
            before, found, after = after[end:].partition(self.mark)
            yield before


_NAMED = re.compile(r"\s*(?P<name>[^\s\[{]+)(?:\[CALL_ID\][A-Za-z0-9]*)?(?:\[ARGS\])?\s*")


def _json(content: str) -> str:
    """A result as it is where it is JSON, else as a string."""
    try:
        decoded(content)
    except ValueError:
        return written(content)
    return content


def _identity(given: str) -> str:
    """Nine letters and digits that stand for a call's id."""
    plain = re.sub(r"[^A-Za-z0-9]", "", given)
    return plain[-_IDENTITY:].rjust(_IDENTITY, "0")


def _role(name: str) -> tuple[Piece, ...]:
    return (*control("<|start_of_role|>"), Piece(name), *control("<|end_of_role|>"))
