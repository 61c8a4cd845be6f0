"""The codecs there are, by name."""

from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import Codec
from practicum.codecs.deepseek import DeepSeekV3, DeepSeekV31
from practicum.codecs.harmony import Harmony
from practicum.codecs.hermes import Granite4, Hermes
from practicum.codecs.listed import Granite, Mistral, MistralArgs, Phi4Mini
from practicum.codecs.llama import GemmaPythonic, Llama3Json, Llama3Pythonic, Llama4Pythonic
from practicum.codecs.tagged import Glm, Qwen3Coder
from practicum.errors import ConfigurationError

CODECS: tuple[Codec, ...] = (
    ChatMLCompact(),
    DeepSeekV3(),
    DeepSeekV31(),
    GemmaPythonic(),
    Glm(),
    Granite(),
    Granite4(),
    Harmony(),
    Hermes(),
    Llama3Json(),
    Llama3Pythonic(),
    Llama4Pythonic(),
    Mistral(),
    MistralArgs(),
    Phi4Mini(),
    Qwen3Coder(),
)
"""All of them."""
_BY_NAME = {codec.name: codec for codec in CODECS}


def codec_named(name: str) -> Codec:
    """The codec of this name.

    Raises:
        practicum.errors.ConfigurationError: there is none.
    """
    try:
        return _BY_NAME[name]
    except KeyError:
        known = ", ".join(sorted(_BY_NAME))
        raise ConfigurationError(f"There is no codec '{name}'.", mend=f"Use one of: {known}.") from None
