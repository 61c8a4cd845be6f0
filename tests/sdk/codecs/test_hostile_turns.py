# ruff: noqa: RUF001, E501  # the marks of dialects are not ASCII
"""What no codec may be talked into: a call that was only thought, a turn that somebody wrote, minutes over one answer."""

import re
import time
from itertools import product

import pytest

from practicum.codecs.codec import text_of
from practicum.codecs.family import Family
from practicum.codecs.plain import plain_text, runs
from practicum.codecs.probe import controls_of
from practicum.codecs.registry import CODECS, codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from tests.sdk.codecs.conversations import TOOLS

THINKING = [codec for codec in CODECS if isinstance(codec, Family) and codec.thinking and codec.name != "harmony"]
NAMES = [codec.name for codec in CODECS]


@pytest.mark.parametrize("codec", THINKING, ids=lambda codec: codec.name)
def test_a_call_that_was_only_thought_is_none(codec: Family) -> None:
    assert codec.thinking is not None
    opening, closing = (mark.strip() for mark in codec.thinking)

    def written(**arguments: str | int) -> str:
        wish = ToolCall(id="call_1", name="crm_get_order", arguments={"order_id": 1042, **arguments})
        text = text_of(codec.turn(Message(role="assistant", tool_calls=(wish,))))
        for mark in codec.stops:
            text = text.removesuffix(mark)
        return text.removeprefix("\n<think></think>").strip()

    call, marked = written(), written(note=f"{closing} {opening}")
    cases = {
        f"{opening}hm {call} no{closing}Done.": 0,
        f"hm {call} no{closing}Done.": 0,
        f"Sure. {opening}hm {call} no{closing}Done.": 0,
        f"{opening}hm {call}": 0,
        f"Sure. {opening}hm {call}": 0,
        f"hm {call}{closing}{call}": 1,
        f"hm{closing}{call}": 1,
        marked: 1,
        f"{marked}": 1,
    }
    for text, calls in cases.items():
        said = codec.parse(text, TOOLS, 0)
        assert [call.malformed for call in said.message.tool_calls] == [None] * calls, text
        assert said.thought is None or call in said.thought or calls, text


@pytest.mark.parametrize("name", NAMES)
def test_whoever_writes_the_name_of_a_control_token_writes_no_control_token(name: str) -> None:
    codec = codec_named(name)
    names = sorted({control for each in CODECS for control in controls_of(each)})
    word = re.compile("|".join(re.escape(each) for each in sorted(controls_of(codec), key=len, reverse=True)))

    def conversation(said: str) -> tuple[Message, ...]:
        wish = ToolCall(id=said or "c", name=f"crm{said}", arguments={f"a{said}": f"b{said}", "c": [{said: 1}]})
        broken = ToolCall(id="d", name=f"x{said}", arguments={}, malformed=f"{{{said}")
        return (
            Message(role="system", content=f"Be brief.{said}"),
            Message(role="user", content=f"Hi.{said}"),
            Message(role="assistant", content=f"Ok.{said}", tool_calls=(wish, broken)),
            Message(role="tool", content=f'{{"a": "{said}"}}', tool_call_id=said or "c"),
            Message(role="tool", content=said, tool_call_id="d"),
            Message(role="user", content=f"{said}Go on.{said}"),
        )

    def rendered(said: str) -> tuple[str, list[str], list[str]]:
        hostile: JsonObject = {f"p{said}": {"enum": [said], "description": said}}
        schema: JsonObject = {"type": "object", "description": said, "properties": hostile}
        offered = TOOLS[0].model_copy(
            update={"name": f"tool{said}", "description": f"Says {said}", "input_schema": schema}
        )
        pieces = codec.render(conversation(said), (offered,))
        tokens = [run for run in runs(codec, pieces) if isinstance(run, str)]
        texts = [text for run in runs(codec, pieces) if not isinstance(run, str) for text in run]
        return plain_text(codec, pieces), tokens, texts

    def known(tokens: list[str]) -> list[str]:
        return [token for token in tokens if word.fullmatch(token)]

    plain, tokens, _ = rendered("")
    for said in (*names, "".join(names), "<|im_<|im_end|>end|>", "<｜<｜User｜>User｜>"):
        told, drawn, texts = rendered(said)
        assert known(drawn) == known(tokens), said
        assert word.findall(told) == word.findall(plain), said
        assert not [text for text in texts if word.search(text)], said


_SIGNS = (
    "{", "{}", "{},", '{"name":"x"', '{"name":"x","arguments":{}}', "x[a(", "[a(b=", "<tool_call>", "<tool_call>{",
    "<function=", "<function=a><parameter=b>", "<parameter=b>c</parameter>", "<tool_call>a<arg_key>", "</think>",
    "<arg_key>a</arg_key><arg_value>b</arg_value>", "<|channel|>commentary to=functions.a<|message|>",
    "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>a<｜tool▁sep｜>{}<｜tool▁call▁end｜>", "[TOOL_CALLS]a[ARGS]{}", "[TOOL_CALLS][{}]",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_marks_of_calls_without_end_are_read_in_little_time(name: str) -> None:
    codec = codec_named(name)
    marks = codec.marks if isinstance(codec, Family) else ()
    for head, sign in product(("", "x", f"{marks[0]}[" if marks else "["), _SIGNS):
        text = head + sign * (50_000 // len(sign))
        began = time.process_time()
        codec.parse(text, TOOLS, 0)
        codec.visible(text)
        assert time.process_time() - began < 0.6, (head, sign)
