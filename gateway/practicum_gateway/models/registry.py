"""The registered models: aliases, the versions behind each, and what answers for a version."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Text, and_, bindparam, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.checks import ModelCheck
from practicum.contracts.comparison import ModelComparison
from practicum.contracts.models import LONGEST_VERSION, ModelInfo, ModelSpec, ModelVersion, parted
from practicum.contracts.promotion import Change
from practicum.contracts.secrets import is_reference
from practicum.errors import (
    ConfigurationError,
    ConflictError,
    ModelProviderError,
    NotFoundError,
    RequestError,
    SecretSourceError,
)
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.models.split import drawn, names_of, weights_of
from practicum_gateway.models.versions import (
    check_settings,
    compared,
    info_of,
    numbered,
    same_model,
    template_fault,
    unused,
    version_of,
)
from practicum_gateway.secrets.source import Secrets
from practicum_gateway.store.engine import Store
from practicum_gateway.store.model_tables import ModelChangeRow, ModelRow, ModelVersionRow
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.vault import Vault

_SPEC: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A version of a model, ready to be called.

    Attributes:
        spec: its registration, without the provider's key.
        api_key: the provider's key.
        fallbacks: who is asked where it cannot answer; none where a version was asked for.
        split: whether its alias has several versions answer.
    """

    spec: ModelSpec
    api_key: str | None = field(repr=False)
    fallbacks: tuple[str, ...] = ()
    split: bool = False

    @property
    def version(self) -> str:
        """What the record calls the model and its adapters."""
        return version_of(self.spec)


class Registry:
    """Registers, finds and removes models; a provider's key is sealed and never given out.

    Wherever a model is asked for, `alias` is the version that the alias names now, and `alias@version` is that one.
    """

    def __init__(self, store: Store, vault: Vault, secrets: Secrets | None = None) -> None:
        """Keep models in a store, their keys sealed by a vault, or read from where secrets are kept outside."""
        self._secrets = secrets or Secrets({})
        self._store = store
        self._vault = vault
        self._parsed: dict[tuple[str, str], tuple[datetime, RegisteredModel]] = {}

    async def put(self, spec: ModelSpec, *, by: str) -> ModelInfo:
        """Register a model and let its alias name it from now on.

        A model that was registered before is the same version again, perhaps reached elsewhere. Another model is a new
        version; where the version it asks for is taken, it gets a number behind it.

        Args:
            spec: the model.
            by: name of the principal who wants it.

        Raises:
            RequestError: a setting does not fit the provider, its template is not the gateway's, or the embedding model
                of its examples is not registered.
        """
        await self._check(spec)
        async with self._store.write(in_turn=True) as session:
            row = await session.get(ModelRow, spec.alias, with_for_update=True)
            kept = await self._keep(session, spec, by)
            before = None if row is None else row.version
            now, version = utc_now(), version_of(kept)
            if row is None:
                session.add(ModelRow(alias=spec.alias, version=version, updated=now))
            else:
                # Another model ends a split; the same one, perhaps reached elsewhere, leaves it as it is.
                row.split = row.split if before == version else None
                row.version, row.updated = version, now
            if before != version:
                session.add(
                    ModelChangeRow(
                        alias=spec.alias,
                        change=Change.REGISTERED,
                        from_version=before,
                        to_version=version,
                        principal=by,
                        at=now,
                    )
                )
            await append(session, _registered(kept, current=True))
        return info_of(kept)

    async def add(self, spec: ModelSpec, *, by: str) -> ModelVersion:
        """Register a further version of an alias, which goes on naming the one it names.

        Args:
            spec: the model; one that was registered before is the same version again, perhaps reached elsewhere.
            by: name of the principal who wants it.

        Raises:
            NotFoundError: there is no such alias yet.
            ConflictError: its version is registered with other content.
            RequestError: as for `put`.
        """
        await self._check(spec)
        async with self._store.write(in_turn=True) as session:
            if await session.get(ModelRow, spec.alias, with_for_update=True) is None:
                raise NotFoundError(f"There is no model '{spec.alias}'.", mend="Register its first version with POST.")
            kept = await self._keep(session, spec, by, exactly=True)
            version = version_of(kept)
            await append(session, _registered(kept, current=False))
        return next(each for each in await self.versions(spec.alias) if each.version == version)

    async def compare(self, wish: ModelSpec) -> ModelComparison:
        """How a registration differs from the version that is the same model, or else from what its alias names.

        Raises:
            RequestError: it could not be registered.
            ConfigurationError: the key that is kept was sealed under another master key.
        """
        await self._check(wish)
        async with self._store.read() as session:
            named = await session.get(ModelRow, wish.alias)
            if named is None:
                return ModelComparison(known=False)
            rows = await _rows(session, wish.alias)
            same = _same(rows, wish, exactly=False)
            beside = same or next(row for row in rows if row.version == named.version)
            key = None if beside.api_key is None else self._vault.open(beside.api_key, _purpose(wish.alias))
            kept = ModelSpec.model_validate(beside.spec).model_copy(update={"api_key": key})
        version = None if same is None else same.version
        fields = compared(kept, wish, same=same is not None)
        return ModelComparison(known=True, names=named.version, version=version, fields=fields)

    async def _key(self, name: str, key: str | None) -> str | None:
        """A provider's key itself; one that is kept outside is read now."""
        if key is None or not is_reference(key):
            return key
        try:
            return await self._secrets.resolve(key)
        except SecretSourceError as error:
            raise ModelProviderError(f"The key of '{name}' cannot be had. {error.detail}", mend=error.mend) from None

    async def _check(self, spec: ModelSpec) -> None:
        check_settings(spec)
        if spec.api_key is not None and is_reference(spec.api_key):
            await self._secrets.require([spec.api_key])
        if spec.examples is None or spec.examples.embedder is None:
            return
        try:
            await self._load(spec.examples.embedder)
        except NotFoundError as error:
            raise RequestError(
                f"The examples of '{spec.alias}' are found by vectors of '{spec.examples.embedder}', which is not "
                "registered.",
                mend="Register the embedding model first, or leave `embedder` out: words then tell what is near.",
            ) from error

    async def get(self, name: str, *, unit: str | None = None) -> RegisteredModel:
        """The model behind `alias` or `alias@version`.

        Args:
            name: the model.
            unit: for whom it is, where an alias that is split shall draw a version; without, it is the one that the
                alias names.

        Raises:
            NotFoundError: there is no such alias or version.
            ConfigurationError: its key was sealed under another master key, or the gateway's template is no longer the
                one that it was trained with.
            ModelProviderError: its key is kept outside and cannot be read now.
        """
        model = await self._load(name, unit)
        if (fault := template_fault(model.spec)) is not None:
            raise ConfigurationError(
                f"'{name}' cannot be asked: {fault}", mend="Roll the alias back, or train the model again."
            )
        return replace(model, api_key=await self._key(name, model.api_key))

    async def kept(self, name: str) -> RegisteredModel:
        """The same as it is kept: of a key that is kept outside, its reference."""
        return await self._load(name)

    async def info(self, name: str) -> ModelInfo:
        """The model behind `alias` or `alias@version` as it may be shown.

        Raises:
            NotFoundError: there is no such alias or version.
        """
        info = info_of((await self._load(name)).spec)
        alias, version = parted(name)
        if version is not None:
            return info
        async with self._store.read() as session:
            row = await session.get(ModelRow, alias)
        return info if row is None else _routed(info, row)

    async def list(self) -> tuple[tuple[ModelInfo, datetime], ...]:
        """What each alias names as it may be shown, and since when; by alias."""
        async with self._store.read() as session:
            rows = await session.execute(
                select(ModelVersionRow, ModelRow).join(ModelRow, _NAMED).order_by(ModelRow.alias)
            )
            return tuple(
                (_routed(info_of(ModelSpec.model_validate(row.spec)), named), named.updated) for row, named in rows
            )

    async def versions(self, alias: str) -> tuple[ModelVersion, ...]:
        """The versions of an alias as they may be shown, newest first.

        Raises:
            NotFoundError: there is no such alias.
        """
        async with self._store.read() as session:
            named = await session.get(ModelRow, alias)
            if named is None:
                raise await _unknown(session, alias)
            return tuple(_shown(row, named) for row in reversed(await _rows(session, alias)))

    async def remove(self, alias: str, *, by: str) -> None:
        """Forget a model and the keys of all its versions.

        Raises:
            NotFoundError: the alias is not registered.
        """
        async with self._store.write() as session:
            row = await session.get(ModelRow, alias, with_for_update=True)
            if row is None:
                raise NotFoundError(f"There is no model '{alias}'.")
            now = utc_now()
            await session.execute(
                update(ModelVersionRow).where(ModelVersionRow.alias == alias).values(api_key=None, updated=now)
            )
            session.add(
                ModelChangeRow(alias=alias, change=Change.REMOVED, from_version=row.version, principal=by, at=now)
            )
            await session.delete(row)
            await append(session, Deed(Action.MODEL_REMOVED, alias, details={"version": row.version}))
        self._parsed = {key: model for key, model in self._parsed.items() if key[0] != alias}

    async def seal_anew(self) -> int:
        """Seal every provider's key that an older key sealed under the present one; how many they were."""
        count = 0
        async with self._store.write(in_turn=True) as session:  # none is added meanwhile under the older key
            kept = select(ModelVersionRow).where(ModelVersionRow.api_key.is_not(None)).with_for_update()
            for row in await session.scalars(kept):
                sealed = self._vault.sealed_anew(row.api_key or "", _purpose(row.alias))
                if sealed is not None:
                    row.api_key, count = sealed, count + 1
        return count

    async def _load(self, name: str, unit: str | None = None) -> RegisteredModel:
        alias, wanted = parted(name)
        named = next(iter(await self._store.ask(_FOUND, {"of": alias, "wanted": wanted})), None)
        if named is None or named.version is None:
            async with self._store.read() as session:
                raise await _unknown(session, alias, wanted)
        if wanted is not None:
            return await self._version(alias, named.version, named.updated)
        version, updated, weights = named.version, named.updated, weights_of(named.split)
        if unit is not None and weights and (share := drawn(alias, weights, unit)) != version:
            version = share
            updated = (await self._store.ask(_FOUND, {"of": alias, "wanted": version}))[0].updated
        model = await self._version(alias, version, updated)
        return replace(model, fallbacks=names_of(named.fallbacks), split=bool(weights))

    async def _version(self, alias: str, version: str, updated: datetime | None) -> RegisteredModel:
        """A version, parsed and opened once for each time it is registered."""
        known = self._parsed.get((alias, version))
        if known is not None and known[0] == updated:
            return known[1]
        async with self._store.read() as session:
            row = await session.get_one(ModelVersionRow, (alias, version))
        key = None if row.api_key is None else self._vault.open(row.api_key, _purpose(alias))
        model = RegisteredModel(spec=ModelSpec.model_validate(row.spec), api_key=key)
        self._parsed[alias, version] = (row.updated, model)
        return model

    async def _keep(self, session: AsyncSession, spec: ModelSpec, by: str, *, exactly: bool = False) -> ModelSpec:
        """Write a version down, or where it is reached now; the registration as it is kept."""
        rows, now = await _rows(session, spec.alias), utc_now()
        row = _same(rows, spec, exactly=exactly)
        if row is None:
            taken = {each.version for each in rows}
            if exactly and spec.version in taken:
                raise ConflictError(
                    f"The version '{spec.version}' of '{spec.alias}' is registered with other content.",
                    mend="Give it another version; one that is registered never changes.",
                )
            version = unused(version_of(spec), taken)
            if len(version) > LONGEST_VERSION:
                raise RequestError(
                    f"The version of '{spec.alias}' would have more than {LONGEST_VERSION} characters.",
                    mend="Give it a shorter `version`.",
                )
            row = ModelVersionRow(alias=spec.alias, version=version, created=now, created_by=by)
            session.add(row)
        kept = spec.model_copy(update={"version": row.version})
        row.spec = _SPEC.validate_python(kept.model_dump(mode="json", exclude={"api_key"}))
        row.api_key = None if spec.api_key is None else self._vault.seal(spec.api_key, _purpose(spec.alias))
        row.updated, row.checked = now, None
        return kept


def _registered(spec: ModelSpec, *, current: bool) -> Deed:
    details: JsonObject = {"version": version_of(spec), "provider": spec.provider, "current": current}
    return Deed(Action.MODEL_REGISTERED, spec.alias, details=details)


_OF = ModelVersionRow.alias == ModelRow.alias
_NAMED = and_(_OF, ModelVersionRow.version == ModelRow.version)
_WANTED = func.coalesce(bindparam("wanted", type_=Text()), ModelRow.version)
_FOUND = Prepared(
    select(ModelVersionRow.version, ModelVersionRow.updated, ModelRow.split, ModelRow.fallbacks)
    .select_from(ModelRow)
    .outerjoin(ModelVersionRow, and_(_OF, ModelVersionRow.version == _WANTED))
    .where(ModelRow.alias == bindparam("of"))
)
"""The version that is wanted, else the one that its alias names."""


async def _rows(session: AsyncSession, alias: str) -> Sequence[ModelVersionRow]:
    """The versions of an alias, oldest first."""
    rows = await session.scalars(
        select(ModelVersionRow)
        .where(ModelVersionRow.alias == alias)
        .order_by(ModelVersionRow.created, ModelVersionRow.version)
    )
    return rows.all()


def _same(rows: Sequence[ModelVersionRow], spec: ModelSpec, *, exactly: bool) -> ModelVersionRow | None:
    """The latest version that is the same model and has the version it asks for, if it asks for one."""
    for row in reversed(rows):
        named = spec.version in (None, row.version) or (not exactly and numbered(row.version, spec.version))
        if named and same_model(ModelSpec.model_validate(row.spec), spec):
            return row
    return None


def _routed(info: ModelInfo, named: ModelRow) -> ModelInfo:
    """What an alias names, with whom else it has answer."""
    return info.model_copy(update={"split": weights_of(named.split), "fallbacks": names_of(named.fallbacks)})


def _shown(row: ModelVersionRow, named: ModelRow) -> ModelVersion:
    return ModelVersion(
        **info_of(ModelSpec.model_validate(row.spec)).model_dump(),
        created=row.created,
        created_by=row.created_by,
        current=row.version == named.version,
        weight=weights_of(named.split).get(row.version),
        check=None if row.checked is None else ModelCheck.model_validate(row.checked),
    )


async def _unknown(session: AsyncSession, alias: str, version: str | None = None) -> NotFoundError:
    """The error that says what there is instead."""
    if await session.get(ModelRow, alias) is not None:
        versions = ", ".join(row.version for row in await _rows(session, alias))
        return NotFoundError(f"The model '{alias}' has no version '{version}'.", mend=f"Its versions: {versions}.")
    names = list(await session.scalars(select(ModelRow.alias).order_by(ModelRow.alias)))
    return NotFoundError(
        f"There is no model '{alias}'.",
        mend=f"Registered models: {', '.join(names)}." if names else "Register it: POST /v1/models.",
    )


def _purpose(alias: str) -> str:
    return f"model {alias}"
