"""Words as they are searched for: names split where their spelling parts them, endings taken off."""

import re
from collections.abc import Iterator

_RUNS = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_STOP = frozenset(
    """a an and are as at be by for from in is it its of on or that the this to with your you""".split()  # noqa: SIM905
)
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_SHORTEST = 3
"""What is left of a word is never shorter."""
_SHORTEST_OF_NOUN = 4
"""`deletion` is a deed, `version` and `session` are none worth shortening further."""
_SHORTEST_OF_DEED = 5
"""`validate` and `validation` meet in `valid`; `format` and `form` stay apart."""


def split_words(text: str) -> list[str]:
    """The words of a name in any of the usual spellings, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def terms(text: str) -> Iterator[str]:
    """The words of a text worth searching for, without their endings."""
    for run in _RUNS.findall(text):
        for word in split_words(run):
            if word not in _STOP:
                yield stem(word)


def stem(word: str) -> str:
    """A word without the commonest endings, so that `refunds`, `refunding`, `deletion` and `delete` find each other.

    Args:
        word: in lower case.
    """
    if len(word) <= _SHORTEST or word[-1].isdigit():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    word = word.removesuffix("e")
    if word.endswith(("tion", "sion")) and len(word) - 3 >= _SHORTEST_OF_NOUN:
        word = word[:-3]
    if word.endswith("at") and len(word) - 2 >= _SHORTEST_OF_DEED:
        word = word[:-2]
    if len(word) > _SHORTEST and word[-1] == word[-2]:  # `cancelled` and `cancel`, `shipping` and `ship`
        word = word[:-1]
    return word
