"""Vectors of texts: asked for once, in order, by either provider, and read strictly."""

from collections.abc import AsyncIterator, Iterator

import pytest
from opentelemetry.trace import NoOpTracer

from practicum.contracts.base import JsonObject
from practicum.contracts.models import ExampleSet, ModelSpec, Provider
from practicum.errors import ModelProviderError, NotFoundError, RequestError
from practicum_gateway.models.embeddings import Embeddings, read_vectors
from practicum_gateway.models.litellm_provider import LitellmProvider
from practicum_gateway.models.llama_cpp import LlamaCppProvider
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.router import Models
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault, new_key
from tests.gateway.embedding_server import EmbeddingServer, embedding_server
from tests.gateway.models.broken import broken_server


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server("refund", "ship") as running:
        yield running


@pytest.fixture
def registry(store: Store) -> Registry:
    return Registry(store, Vault(new_key()))


@pytest.fixture
async def embeddings(registry: Registry, server: EmbeddingServer) -> AsyncIterator[Embeddings]:
    litellm, llama_cpp = LitellmProvider(timeout_seconds=5.0), LlamaCppProvider()
    await registry.put(
        ModelSpec(
            alias="hosted", provider=Provider.LITELLM, target="openai/vectors", base_url=f"{server.url}/v1", api_key="k"
        ),
        by="ann",
    )
    await registry.put(
        ModelSpec(alias="minilm", provider=Provider.LLAMA_CPP, target="minilm", base_url=server.url), by="ann"
    )
    providers = {Provider.LITELLM: litellm, Provider.LLAMA_CPP: llama_cpp}
    yield Embeddings(Models(registry, providers, NoOpTracer()))
    await litellm.close()
    await llama_cpp.aclose()


@pytest.mark.parametrize("alias", ["hosted", "minilm"])
async def test_each_text_has_its_vector_of_length_one(
    embeddings: Embeddings, server: EmbeddingServer, alias: str
) -> None:
    refund, ship, other = await embeddings.vectors(alias, ["refund it", "ship ship", "hello"])
    assert list(refund) == pytest.approx([0.995037, 0.0, 0.099504], abs=1e-6)
    assert list(ship) == pytest.approx([0.0, 0.998752, 0.049938], abs=1e-6)
    assert list(other) == pytest.approx([0.0, 0.0, 1.0])
    assert server.asked == [["refund it", "ship ship", "hello"]]


async def test_a_text_is_sent_once_for_each_version_of_the_model(
    embeddings: Embeddings, registry: Registry, server: EmbeddingServer
) -> None:
    await embeddings.vectors("minilm", ["refund", "ship", "refund"])
    await embeddings.vectors("minilm", ["ship", "hello"])
    assert server.asked == [["refund", "ship"], ["hello"]]
    await registry.put(
        ModelSpec(alias="minilm", provider=Provider.LLAMA_CPP, target="other", base_url=server.url), by="ann"
    )
    await embeddings.vectors("minilm", ["ship"])
    assert server.asked[2:] == [["ship"]]


async def test_many_texts_go_in_parts(embeddings: Embeddings, server: EmbeddingServer) -> None:
    vectors = await embeddings.vectors("minilm", [f"ship {'refund ' * number}" for number in range(150)])
    assert [len(part) for part in server.asked] == [64, 64, 22]
    shares = [vector[0] / vector[1] for vector in vectors]
    assert shares == pytest.approx(list(range(150)), rel=1e-5)


@pytest.mark.parametrize("alias", ["hosted", "minilm"])
async def test_a_server_that_is_down_is_one_clear_error(
    embeddings: Embeddings, server: EmbeddingServer, alias: str
) -> None:
    server.down = True
    with pytest.raises(ModelProviderError, match=alias):
        await embeddings.vectors(alias, ["refund"])
    server.down = False
    assert await embeddings.vectors(alias, ["refund"])


async def test_a_server_that_says_nothing_is_given_up_on(registry: Registry) -> None:
    provider = LitellmProvider()
    models = Models(registry, {Provider.LITELLM: provider}, NoOpTracer(), seconds=0.1)
    with broken_server() as silent:
        silent.way = "silent"
        spec = ModelSpec(alias="mute", provider=Provider.LITELLM, target="openai/vectors", base_url=f"{silent.url}/v1")
        await registry.put(spec, by="ann")
        with pytest.raises(ModelProviderError, match=r"did not answer within 0.1 s"):
            await models.embed("mute", ["hello"])
    await provider.close()


async def test_a_model_that_is_not_there_is_not_found(embeddings: Embeddings) -> None:
    with pytest.raises(NotFoundError, match="'nobody'"):
        await embeddings.vectors("nobody", ["refund"])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "data"),
        ([{"index": 0, "embedding": [1.0]}], "2 texts were sent and 1 vectors came back"),
        ([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}], "2 texts"),
        ([{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [1.0]}], "one width"),
        ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [0.0]}], "no direction"),
        ([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("nan")]}], "data.1.embedding.0"),
        ([{"index": 0, "embedding": list[float]()}, {"index": 1, "embedding": [1.0]}], "data.0.embedding"),
        ([{"index": 0, "embedding": [[1.0]]}, {"index": 1, "embedding": [1.0]}], "data.0.embedding.0"),
    ],
)
def test_what_are_no_vectors_is_refused(data: list[JsonObject] | None, why: str) -> None:
    with pytest.raises(ModelProviderError, match=why) as raised:
        read_vectors({"data": data}, 2, "minilm")  # type: ignore[dict-item]
    assert "embedding model" in str(raised.value.mend)


async def test_examples_name_an_embedding_model_that_is_there(registry: Registry, embeddings: Embeddings) -> None:
    assert embeddings
    spec = ModelSpec(alias="agent", provider=Provider.LITELLM, target="openai/x")
    with pytest.raises(RequestError, match="'nobody', which is not registered"):
        await registry.put(spec.model_copy(update={"examples": ExampleSet(episodes=(), embedder="nobody")}), by="ann")
    await registry.put(spec.model_copy(update={"examples": ExampleSet(episodes=(), embedder="minilm")}), by="ann")
