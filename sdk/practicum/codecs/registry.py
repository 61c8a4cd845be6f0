"""The codecs there are, by name."""

from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import Codec
from practicum.errors import ConfigurationError

_ALL: tuple[Codec, ...] = (ChatMLCompact(),)
_CODECS = {codec.name: codec for codec in _ALL}


def codec_named(name: str) -> Codec:
    """The codec of this name.

    Raises:
        practicum.errors.ConfigurationError: there is none.
    """
    try:
        return _CODECS[name]
    except KeyError:
        known = ", ".join(sorted(_CODECS))
        raise ConfigurationError(f"There is no codec '{name}'.", mend=f"Use one of: {known}.") from None
