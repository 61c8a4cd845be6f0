"""The registered models: an alias, and what answers behind it."""

from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import select

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.models import ModelInfo, ModelSpec, Provider
from practicum.errors import NotFoundError, RequestError
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import ModelRow
from practicum_gateway.store.vault import Vault

_SPEC: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model, ready to be called.

    Attributes:
        spec: its registration, without the provider's key.
        api_key: the provider's key.
    """

    spec: ModelSpec
    api_key: str | None = field(repr=False)

    @property
    def version(self) -> str:
        """What the record calls the model and its adapters."""
        return version_of(self.spec)


def version_of(spec: ModelSpec) -> str:
    """What the record calls a model: the version given to it, else its target, with the adapters' scales."""
    if spec.version is not None:
        return spec.version
    adapters = "".join(f"+lora{number}:{scale:g}" for number, scale in sorted(spec.adapter.items()))
    return spec.target + adapters


class Registry:
    """Registers, finds and removes models; a provider's key is sealed and never given out."""

    def __init__(self, store: Store, vault: Vault) -> None:
        """Keep models in a store, their keys sealed by a vault."""
        self._store = store
        self._vault = vault
        self._parsed: dict[str, tuple[datetime, RegisteredModel]] = {}

    async def put(self, spec: ModelSpec) -> ModelInfo:
        """Register a model under its alias, in place of what the alias named before.

        Raises:
            RequestError: a setting does not fit the provider.
        """
        _check(spec)
        key = spec.api_key
        row = ModelRow(
            alias=spec.alias,
            spec=_SPEC.validate_python(spec.model_dump(mode="json", exclude={"api_key"})),
            api_key=None if key is None else self._vault.seal(key, _purpose(spec.alias)),
            updated=utc_now(),
        )
        async with self._store.write() as session:
            await session.merge(row)
        return _info(spec)

    async def get(self, alias: str) -> RegisteredModel:
        """The model behind an alias.

        Raises:
            NotFoundError: the alias is not registered.
            ConfigurationError: its key was sealed under another master key.
        """
        async with self._store.read() as session:
            updated = await session.scalar(select(ModelRow.updated).where(ModelRow.alias == alias))
            known = self._parsed.get(alias)
            if updated is not None and known is not None and known[0] == updated:
                return known[1]
            row = await session.get(ModelRow, alias)
            if row is None:
                names = list(await session.scalars(select(ModelRow.alias).order_by(ModelRow.alias)))
                raise NotFoundError(
                    f"There is no model '{alias}'.",
                    mend=f"Registered models: {', '.join(names)}." if names else "Register it: POST /v1/models.",
                )
        key = None if row.api_key is None else self._vault.open(row.api_key, _purpose(alias))
        model = RegisteredModel(spec=ModelSpec.model_validate(row.spec), api_key=key)
        self._parsed[alias] = (row.updated, model)
        return model

    async def info(self, alias: str) -> ModelInfo:
        """A model as it may be shown.

        Raises:
            NotFoundError: the alias is not registered.
        """
        return _info((await self.get(alias)).spec)

    async def list(self) -> tuple[tuple[ModelInfo, datetime], ...]:
        """Every model as it may be shown and when it was registered, by alias."""
        async with self._store.read() as session:
            rows = await session.scalars(select(ModelRow).order_by(ModelRow.alias))
            return tuple((_info(ModelSpec.model_validate(row.spec)), row.updated) for row in rows)

    async def remove(self, alias: str) -> None:
        """Forget a model and its key.

        Raises:
            NotFoundError: the alias is not registered.
        """
        async with self._store.write() as session:
            row = await session.get(ModelRow, alias)
            if row is None:
                raise NotFoundError(f"There is no model '{alias}'.")
            await session.delete(row)
        self._parsed.pop(alias, None)


def _purpose(alias: str) -> str:
    return f"model {alias}"


def _check(spec: ModelSpec) -> None:
    if spec.provider is Provider.LLAMA_CPP and spec.base_url is None:
        raise RequestError(f"The model '{spec.alias}' has no base_url.", mend="Give the URL of its llama.cpp server.")
    if spec.provider is Provider.LITELLM and (spec.codec is not None or spec.adapter):
        raise RequestError(
            "A litellm model calls tools natively: codec and adapter would do nothing.",
            mend="Leave them out, or use the provider llama_cpp.",
        )


def _info(spec: ModelSpec) -> ModelInfo:
    return ModelInfo(
        alias=spec.alias,
        provider=spec.provider,
        target=spec.target,
        version=version_of(spec),
        base_url=spec.base_url,
        codec=spec.codec,
        constrained=spec.constrained,
        examples=0 if spec.examples is None else len(spec.examples.episodes),
    )
