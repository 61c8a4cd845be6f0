"""Our own attention in the place of a model's: transformers looks it up by name, and calls it for each layer."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from practicum.errors import ConfigurationError
from practicum.stages._trl import libraries
from practicum.stages._trl.models import Loaded

Attend: TypeAlias = Callable[[int, Any, Any, Any], Any]
"""From the layer's number and its queries, keys and values, of shape (rows, heads, tokens, size) and the queries scaled
already, to what was attended to, in the queries' shape."""

_NAME = "practicum"
_ATTEND: ContextVar[Attend] = ContextVar("attend")


@contextmanager
def attending(loaded: Loaded, attend: Attend) -> Generator[None]:
    """Have the model attend like this, without a mask or a cache of its own."""
    libraries.transformers().AttentionInterface.register(_NAME, _forward)
    config = loaded.plain.config
    usual = config._attn_implementation  # noqa: SLF001  transformers has no other door for one forward pass
    token = _ATTEND.set(attend)
    config._attn_implementation = _NAME  # noqa: SLF001
    try:
        yield
    finally:
        config._attn_implementation = usual  # noqa: SLF001
        _ATTEND.reset(token)


def check_attention(loaded: Loaded) -> None:
    """See that the model's attention is the plain one, over everything before a token.

    Raises:
        ConfigurationError: it is not.
    """
    config = loaded.plain.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ("full_attention",))
    if kinds != {"full_attention"} or getattr(config, "sliding_window", None) is not None:
        raise ConfigurationError(
            "Models that attend to a window of what they read cannot be used here.",
            mend="Choose a model of the Llama, Qwen or SmolLM kind.",
        )


def _forward(module: Any, query: Any, key: Any, value: Any, _mask: Any, *, scaling: float, **_: Any) -> Any:
    """Attention in the form that transformers calls."""
    attended = _ATTEND.get()(int(module.layer_idx), query * scaling, key, value)
    return attended.transpose(1, 2).contiguous(), None
