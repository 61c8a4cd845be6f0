# ruff: noqa: RUF001  # signs of templates, which are not ASCII
"""Which codec suits a model: told by its chat template, or where that is not known, guessed by its name."""

import re

_TEMPLATES = (
    # The first whose signs all stand in the template, and of whose others none does.
    ("harmony", ("<|channel|>", "<|start|>"), ()),
    ("glm", ("</arg_key>\n<arg_value>", "[gMASK]"), ()),
    ("qwen3-coder", ("<function=", "<|im_start|>"), ()),
    ("deepseek-v3", ("<｜tool▁sep｜>", "```json"), ("DSML",)),
    ("deepseek-v31", ("<｜tool▁sep｜>",), ("DSML",)),
    ("mistral-args", ("[TOOL_CALLS]", "[ARGS]"), ()),
    ("mistral", ("[TOOL_CALLS]", "[INST]"), ()),
    ("granite4", ("<|start_of_role|>", "<tool_call>"), ()),
    ("granite", ("<|start_of_role|>",), ()),
    ("phi4-mini", ("<|tool_call|>", "<|end|>"), ()),
    ("llama4-pythonic", ("<|header_start|>",), ()),
    ("llama3-pythonic", ("<|start_header_id|>", "python list"), ()),
    ("llama3-json", ("<|start_header_id|>", '"parameters"'), ("<function=", "<TOOLCALL>", "functools")),
    ("gemma-pythonic", ("<start_of_turn>",), ("<start_function_call>",)),
    ("hermes", ("<|im_start|>", "<tool_call>"), ("<|tool_list_start|>",)),
    ("chatml-compact", ("<|im_start|>",), ("tools", "tool_calls", "<|im_middle|>")),
)
_NAMES = (
    ("harmony", r"gpt-oss"),
    ("qwen3-coder", r"qwen-?3-?coder|qwen-?3\.5"),
    ("deepseek-v31", r"deepseek-v3\.1"),
    ("deepseek-v3", r"deepseek-(?:v3(?!\.)|r1)"),
    ("hermes", r"hermes|qwen|qwq"),
    ("glm", r"glm-4\.[56]"),
    ("mistral-args", r"devstral|magistral|ministral-3|mistral-small-3\.2"),
    ("mistral", r"mistral|mixtral"),
    ("granite4", r"granite-?4"),
    ("granite", r"granite-?3"),
    ("phi4-mini", r"phi-4-mini"),
    ("llama4-pythonic", r"llama-4"),
    ("llama3-pythonic", r"toolace"),
    ("llama3-json", r"llama-3\.[123]"),
    ("gemma-pythonic", r"gemma-3(?!n)"),
    ("chatml-compact", r"smollm2"),
)
"""The first that is found in a model's name."""


def suits_template(template: str) -> str | None:
    """The codec whose family a chat template is of; None where none is.

    Args:
        template: in Jinja, as a tokenizer or a GGUF file holds it.
    """
    for name, signs, others in _TEMPLATES:
        if all(sign in template for sign in signs) and not any(other in template for other in others):
            return name
    return None


def suits_name(model: str) -> str | None:
    """The codec that models of this name are usually spoken to with; None where nothing is known of it."""
    return next((name for name, pattern in _NAMES if re.search(pattern, model, re.IGNORECASE)), None)
