"""What is counted of one tenant. None of it holds what a caller, a model or a system said."""

import itertools
from collections.abc import Iterable, Iterator

from practicum_gateway.metrics.instruments import SHORT_SECONDS, At, Capped, Counter, Family, Histogram

_MODEL_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_AGENT_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_TOKENS = (
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262144.0,
    1048576.0,
    4194304.0,
    16777216.0,
    67108864.0,
)
_MOST_NAMES = 100
"""How many connectors, models and tools of a tenant are told apart."""
_MODEL = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "domain")
UNKNOWN = "unknown"
_SEVERAL = "several"


class Meter:
    """Counts for one tenant.

    Attributes:
        connector: a connector's name as an attribute.
        model: a model's alias as an attribute.
        tool: a tool's name as an attribute.
    """

    def __init__(self) -> None:
        """Begin at nothing."""
        self.connector, self.model, self.tool, self._provider = (Capped(_MOST_NAMES) for _ in range(4))
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
            "practicum.approvals", "{approval}", "Questions to people: asked, approved, denied, cancelled.", "outcome"
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
            *("status", "cause", "domain"),
        )
        self.agent_seconds = Histogram(
            "gen_ai.invoke_agent.duration",
            "s",
            "What an episode took from its begin to its end, waiting for people included.",
            *("gen_ai.request.model", "domain", "error.type"),
            bounds=_AGENT_SECONDS,
        )
        self.tool_seconds = Histogram(
            "gen_ai.execute_tool.duration",
            "s",
            "What a tool call took, from the agent's wish to its outcome.",
            *("gen_ai.tool.name", "error.type"),
            bounds=_MODEL_SECONDS,
        )
        self.model_seconds = Histogram(
            "gen_ai.client.operation.duration",
            "s",
            "What a model took for a turn or for vectors.",
            *(*_MODEL, "error.type"),
            bounds=_MODEL_SECONDS,
        )
        self.first_seconds = Histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            "s",
            "How long a model's streamed answer took to begin.",
            *_MODEL,
            bounds=_MODEL_SECONDS,
        )
        self.tokens = Histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a model's turn.",
            *(*_MODEL, "gen_ai.token.type"),
            bounds=_TOKENS,
        )
        self.model_retries = Counter(
            "practicum.model.retries",
            "{try}",
            "Tries at a turn beyond its first: of a driver that asks again, and of fallbacks.",
            *("gen_ai.request.model", "domain"),
        )
        self.cost = Counter(
            "practicum.model.cost",
            "{USD}",
            "What model calls cost at list price, where litellm knows it; discounts for cached prompts are left out.",
            *("gen_ai.request.model", "domain"),
        )

    def domain(self, connectors: Iterable[str]) -> str:
        """What an agent with tools of these connectors is about: the one of them, `several`, or nothing."""
        named = set(connectors)
        return _SEVERAL if len(named) > 1 else self.connector(named.pop()) if named else ""

    def asked(self, operation: str, provider: str, alias: str, domain: str) -> At:
        """Where a call of a model is counted.

        Args:
            operation: `chat` or `embeddings`.
            provider: whose server is asked.
            alias: the model.
            domain: what its agent is about.
        """
        return operation, self._provider(provider), self.model(alias), domain

    def took(self, at: At, asked: int, answered: int) -> None:
        """Count the tokens of a model's turn.

        Args:
            at: where, as `asked` says.
            asked: of the prompt.
            answered: of the completion.
        """
        self.tokens.observe(asked, *at, "input")
        self.tokens.observe(answered, *at, "output")

    def families(self) -> Iterator[Family]:
        """What it stands at."""
        instruments = (
            *(self.calls, self.tool_seconds, self.gateway_seconds, self.upstream_seconds, self.retries),
            *(self.approvals, self.deliveries, self.episodes, self.agent_seconds, self.model_seconds),
            *(self.first_seconds, self.tokens, self.model_retries, self.cost),
        )
        return itertools.chain.from_iterable(instrument.families() for instrument in instruments)
