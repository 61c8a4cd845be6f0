"""What is counted of one tenant. None of it holds what a caller, a model or a system said."""

import itertools
from collections.abc import Iterator

from practicum_gateway.metrics.instruments import SHORT_SECONDS, Capped, Counter, Family, Histogram

_MODEL_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0)
_MOST_NAMES = 100
"""How many connectors and how many models of a tenant are told apart."""
_MODEL = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
UNKNOWN = "unknown"


class Meter:
    """Counts for one tenant.

    Attributes:
        connector: a connector's name as an attribute.
        model: a model's alias as an attribute.
    """

    def __init__(self) -> None:
        """Begin at nothing."""
        self.connector, self.model, self._provider = Capped(_MOST_NAMES), Capped(_MOST_NAMES), Capped(_MOST_NAMES)
        self.calls = Counter(
            "practicum.tool.calls",
            "{call}",
            "Tool calls by how they ended; repeated are those answered with an outcome that was recorded before.",
            *("connector", "effect", "outcome"),
        )
        self.gateway_seconds = Histogram(
            "practicum.tool.gateway.duration",
            "s",
            "The gateway's share of a tool call: all of its time but for what the system took.",
            "effect",
            bounds=SHORT_SECONDS,
        )
        self.upstream_seconds = Histogram(
            "practicum.tool.upstream.duration", "s", "What the system took for a tool call, all tries.", "connector"
        )
        self.retries = Counter(
            "practicum.tool.retries", "{try}", "Tries of tool calls beyond the first of each.", "connector"
        )
        self.approvals = Counter(
            "practicum.approvals", "{approval}", "Questions to people: asked, approved, denied.", "outcome"
        )
        self.deliveries = Counter(
            "practicum.webhooks.deliveries",
            "{try}",
            "Tries to deliver messages to webhooks: delivered, failed; and messages that were given_up.",
            "outcome",
        )
        self.episodes = Counter(
            "practicum.episodes.ended",
            "{episode}",
            "Episodes that ended, and who could have caused it.",
            "status",
            "cause",
        )
        self.model_seconds = Histogram(
            "gen_ai.client.operation.duration",
            "s",
            "What a model took for a turn or for vectors.",
            *(*_MODEL, "error.type"),
            bounds=_MODEL_SECONDS,
        )
        self.tokens = Histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a model's turn.",
            *(*_MODEL, "gen_ai.token.type"),
            bounds=_TOKENS,
        )
        self.cost = Counter(
            "practicum.model.cost",
            "{USD}",
            "What model calls cost at list price, where litellm knows it; discounts for cached prompts are left out.",
            "gen_ai.request.model",
        )

    def answered(self, operation: str, provider: str, alias: str, seconds: float, error: str) -> None:
        """Count a call of a model.

        Args:
            operation: `chat` or `embeddings`.
            provider: whose server answered.
            alias: the model.
            seconds: wall seconds it took.
            error: the error's code; empty without one.
        """
        self.model_seconds.observe(seconds, operation, self._provider(provider), self.model(alias), error)

    def took(self, operation: str, provider: str, alias: str, asked: int, answered: int) -> None:
        """Count the tokens of a model's turn, prompt and completion; the rest as for `answered`."""
        place = (operation, self._provider(provider), self.model(alias))
        self.tokens.observe(asked, *place, "input")
        self.tokens.observe(answered, *place, "output")

    def families(self) -> Iterator[Family]:
        """What it stands at."""
        instruments = (
            *(self.calls, self.gateway_seconds, self.upstream_seconds, self.retries, self.approvals, self.deliveries),
            *(self.episodes, self.model_seconds, self.tokens, self.cost),
        )
        return itertools.chain.from_iterable(instrument.families() for instrument in instruments)
