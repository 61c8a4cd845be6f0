"""What the providers share that render prompts themselves, and read what comes as text."""

from practicum.codecs.codec import Codec
from practicum.contracts.messages import Message
from practicum.errors import RequestError
from practicum_gateway.models.provider import Prompt


def check_held(prompt: Prompt) -> None:
    """See that nothing is asked for that only a provider can hold an answer to which calls tools natively.

    Raises:
        RequestError: something is.
    """
    if prompt.sampling.holding:
        raise RequestError(
            f"The model '{prompt.spec.alias}' cannot be held to {', '.join(prompt.sampling.holding)}.",
            mend="Leave it out, or ask a model that calls tools natively.",
        )


class Shown:
    """The words of a turn as they are given out while it is drawn: never a piece of a thought or of a call."""

    def __init__(self, codec: Codec) -> None:
        """Nothing was given out yet."""
        self._codec = codec
        self._given = ""

    def more(self, text: str) -> str:
        """What can be given out now.

        Args:
            text: the turn as far as it is drawn.
        """
        visible = self._codec.visible(text)
        more = visible[len(self._given) :]
        self._given += more
        return more

    def rest(self, message: Message) -> str:
        """The words that were held back because a call might have begun with them."""
        content = message.content or ""
        return content[len(self._given) :] if content.startswith(self._given) else ""
