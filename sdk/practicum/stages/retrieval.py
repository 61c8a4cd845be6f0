"""Retrieval: the solved tasks that are most like a new one, shown to the model before it. Pure.

Tasks of one kind differ in their entities and share their words. So names, numbers, addresses and quotations are masked
before texts are compared: by the vectors that an embedding model gives them, or by their words, of which rare ones
count for more than common ones.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import mul

from practicum.contracts.messages import Message
from practicum.contracts.models import ExampleSet

_ENTITY = re.compile(
    r"""
      (?P<quoted> "[^"\n]{1,200}" | (?<!\w)'[^'\n]{1,200}'(?!\w) | “[^”\n]{1,200}” )
    | (?P<email>  [\w.+-]+@[\w-]+(\.[\w-]+)+ )
    | (?P<link>   https?://\S+ )
    | (?P<number> \w*\d(?:[\w.,:/-]*\w)? )
    # Capitalised words are a name when there are several in a row, or when a sentence does not begin with them.
    | (?P<name>   [A-Z][\w'-]*(\ [A-Z][\w'-]*)+ | (?<=[\w,;]\ )[A-Z][\w'-]* )
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\w+")
_PAIR_WEIGHT = 0.5
"""What two neighbouring words count for, against 1 for a single one."""


def nearest(task: str, examples: ExampleSet) -> tuple[tuple[Message, ...], ...]:
    """The examples whose words are most like a task's, as many as the set shows.

    Deterministic; of two that are equally near, the earlier in the set is the nearer.

    Args:
        task: what is to be done.
        examples: solved conversations, each beginning with its user message.

    Returns:
        Conversations, the nearest last and so next to the task.
    """
    terms = tuple(_terms(question(episode)) for episode in examples.episodes)
    weights = _weights(terms)
    wanted = _vector(_terms(task), weights)
    return _best(examples, [_cosine(wanted, _vector(found, weights)) for found in terms])


def nearest_by_vectors(
    task: Sequence[float], vectors: Sequence[Sequence[float]], examples: ExampleSet
) -> tuple[tuple[Message, ...], ...]:
    """The examples whose vectors lie nearest to a task's, as many as the set shows.

    Args:
        task: the unit vector of the task.
        vectors: the unit vector of each example's question, in the order of the set.
        examples: the set.

    Returns:
        Conversations, the nearest last and so next to the task.
    """
    return _best(examples, [sum(map(mul, task, vector)) for vector in vectors])


def question(episode: Sequence[Message]) -> str:
    """What a solved conversation was asked."""
    return next((message.content or "" for message in episode if message.role == "user"), "")


def masked(text: str) -> str:
    """The text with its entities replaced by their kinds."""
    return " ".join(_ENTITY.sub(lambda found: f" {(found.lastgroup or '').upper()} ", text).split())


def _best(examples: ExampleSet, scores: Sequence[float]) -> tuple[tuple[Message, ...], ...]:
    ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    return tuple(examples.episodes[index] for index in reversed(ranked[: examples.shown]))


@lru_cache(maxsize=4096)
def _terms(text: str) -> Mapping[str, int]:
    """Words and pairs of neighbouring words of the masked text, counted."""
    words = [word if word.isupper() else word.lower() for word in _WORD.findall(masked(text))]
    return Counter([*words, *(f"{first} {second}" for first, second in pairwise(words))])


def _weights(documents: tuple[Mapping[str, int], ...]) -> dict[str, float]:
    """How much each term tells: the fewer documents hold it, the more."""
    held = Counter(term for document in documents for term in document)
    total = len(documents)
    return {term: (_PAIR_WEIGHT if " " in term else 1.0) * math.log(1 + total / count) for term, count in held.items()}


def _vector(terms: Mapping[str, int], weights: Mapping[str, float]) -> dict[str, float]:
    return {term: count * weights[term] for term, count in terms.items() if term in weights}


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    product = sum(value * second[term] for term, value in first.items() if term in second)
    lengths = math.hypot(*first.values()) * math.hypot(*second.values())
    return product / lengths if lengths else 0.0
