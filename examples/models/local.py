"""The local model as it is trained, measured and registered."""

from practicum.contracts.models import ExampleSet, ModelSpec, Provider, Sampling
from practicum_gateway.models.llama_cpp import DEFAULT_CODEC

SYSTEM = "Do the task by calling tools, then say what you did."
"""Its system message: short, since a small model reads slowly."""


def specification(server: str | None = None, adapter: float = 0.0, examples: ExampleSet | None = None) -> ModelSpec:
    """The model as it is registered with a gateway.

    Args:
        server: URL of its llama.cpp server, where it is known.
        adapter: scale of the server's adapter 0.
        examples: solved tasks to show the nearest of.
    """
    return ModelSpec(
        alias="local",
        provider=Provider.LLAMA_CPP,
        target="smollm2",
        base_url=server,
        codec=DEFAULT_CODEC,
        adapter={0: adapter} if adapter else {},
        sampling=Sampling(temperature=0.0, max_tokens=160),
        system=SYSTEM,
        examples=examples,
    )
