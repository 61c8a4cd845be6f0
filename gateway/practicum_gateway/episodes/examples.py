"""The solved tasks that a model is shown before its own: those nearest to it, by vectors or by words."""

from practicum.contracts.messages import Message
from practicum.contracts.models import ExampleSet
from practicum.stages.retrieval import masked, nearest, nearest_by_vectors, question
from practicum_gateway.models.embeddings import Embeddings

_READ = 500
"""Characters of a text that are made a vector of: what a small embedding model can read whatever they are."""


class Examples:
    """Chooses solved tasks."""

    def __init__(self, embeddings: Embeddings) -> None:
        """Take vectors from here."""
        self._embeddings = embeddings

    async def shown(self, task: str, examples: ExampleSet | None) -> tuple[tuple[Message, ...], ...]:
        """The nearest of a set, the nearest of all last; none where there is no set.

        Raises:
            NotFoundError: the set's embedding model is not registered any more.
            ModelProviderError, RequestError: it does not answer.
        """
        if examples is None or not examples.shown or not examples.episodes:
            return ()
        if examples.embedder is None:
            return nearest(task, examples)
        texts = [task, *(question(episode) for episode in examples.episodes)]
        wanted, *vectors = await self._embeddings.vectors(examples.embedder, [masked(text)[:_READ] for text in texts])
        return nearest_by_vectors(wanted, vectors, examples)
