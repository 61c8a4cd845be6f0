"""Promotions: which version an alias names, who else answers for it, and how it came to that."""

from collections.abc import Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.evaluation import Comparison
from practicum.contracts.models import ModelSpec, parted, reference
from practicum.contracts.promotion import Change, Promotion, PromotionRequest
from practicum.contracts.routing import Fallbacks, Split
from practicum.errors import ConflictError, NotFoundError, RequestError
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.models.evidence import judge
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.split import weights_of
from practicum_gateway.models.versions import template_fault
from practicum_gateway.store.engine import Store
from practicum_gateway.store.model_tables import ModelChangeRow, ModelRow, ModelVersionRow


class Promotions:
    """Lets an alias name another version; what begins after that uses it, what runs keeps the one it has."""

    def __init__(self, store: Store, registry: Registry) -> None:
        """Change the aliases of a registry that keeps them in this store."""
        self._store = store
        self._registry = registry

    async def promote(self, alias: str, request: PromotionRequest, *, by: str) -> Promotion:
        """Let an alias name a version that is shown to be better than the one it names; a split ends with it.

        The version that it names already needs no evidence: promoted while the alias is split, it ends the split.

        The same again, once it is done, gives the change that did it.

        Args:
            alias: the alias.
            request: the candidate and its evidence.
            by: name of the principal who wants it.

        Raises:
            NotFoundError: there is no such alias or version.
            RequestError: the evidence is not of these two versions on the same held-out tasks.
            ConflictError: it is not shown to be better and nobody answers for it, its template is not the gateway's, or
                the alias went to another version meanwhile.
        """
        named = await self._registry.info(alias)
        current = named.version
        await self._registry.info(reference(alias, request.version))
        if request.version == current and not named.split:
            return (await self.history(alias))[0]
        comparison = None if request.version == current else judge(alias, current, request)
        async with self._store.write() as session:
            row = await _locked(session, alias)
            if row.version != current:
                raise ConflictError(
                    f"'{alias}' went from '{current}' to '{row.version}' meanwhile.",
                    mend="Compare the candidate with that version.",
                )
            return await _change(
                session,
                row,
                Change.PROMOTED,
                request.version,
                by,
                comparison=comparison,
                override=request.override,
            )

    async def split(self, alias: str, split: Split, *, by: str) -> Promotion:
        """Have several versions of an alias answer, each with its weight; it goes on naming the one it names.

        Args:
            alias: the alias.
            split: the weights.
            by: name of the principal who wants it.

        Raises:
            NotFoundError: there is no such alias or version.
            RequestError: the version that the alias names has no part in it.
            ConflictError: the template of one is not the gateway's.
        """
        for version in split.weights:
            await self._registry.info(reference(alias, version))
        async with self._store.write() as session:
            row = await _locked(session, alias)
            if row.version not in split.weights:
                raise RequestError(
                    f"'{row.version}', which '{alias}' names, has no part in the split.",
                    mend=f"Give it a weight, or promote another version: `practicum models versions {alias}`.",
                )
            weights = weights_of(dict(split.weights))
            if weights == weights_of(row.split):
                return _promotion((await _changes(session, alias))[-1])
            return await _change(session, row, Change.SPLIT, row.version, by, split=weights)

    async def fall_back(self, alias: str, wanted: Fallbacks) -> None:
        """Say who is asked, in which order, where the model behind an alias cannot answer.

        Args:
            alias: the alias.
            wanted: the models.

        Raises:
            NotFoundError: there is no such alias, or no such model to fall back on.
            RequestError: one stands there twice, or is the alias itself.
        """
        names = wanted.fallbacks
        if len(set(names)) < len(names):
            raise RequestError("A model stands twice among the fallbacks.", mend="Name each once.")
        for name in names:
            await self._registry.info(name)
            if parted(name) == (alias, None):
                raise RequestError(
                    f"'{alias}' cannot fall back on itself.", mend=f"Name a version of it: '{alias}@version'."
                )
        async with self._store.write() as session:
            row = await _locked(session, alias)
            row.fallbacks = list(names) or None
            await append(session, Deed(Action.MODEL_FALLBACKS, alias, details={"fallbacks": list(names)}))

    async def roll_back(self, alias: str, *, by: str) -> Promotion:
        """Let an alias name again what it named before its present version, or be split again as it was.

        Rolled back again, it goes one further back.

        Raises:
            NotFoundError: there is no such alias.
            ConflictError: it never named another, or the gateway's template is not the one that that was trained with.
        """
        async with self._store.write() as session:
            row = await _locked(session, alias)
            stood = _stood(await _changes(session, alias))
            if len(stood) < 2:  # noqa: PLR2004 -- the present one and one before it
                raise ConflictError(
                    f"'{alias}' never named another version than '{row.version}', and was never split.",
                    mend=f"Promote another version: `practicum models versions {alias}` lists those that there are.",
                )
            version, weights = stood[-2]
            return await _change(session, row, Change.ROLLED_BACK, version, by, split=weights)

    async def history(self, alias: str) -> tuple[Promotion, ...]:
        """Every change of what an alias names, newest first; it outlives the alias.

        Raises:
            NotFoundError: there was never such an alias.
        """
        async with self._store.read() as session:
            found = tuple(map(_promotion, await _changes(session, alias)))
        if not found:
            raise NotFoundError(f"There was never a model '{alias}'.")
        return tuple(reversed(found))


_DEEDS = {Change.ROLLED_BACK: Action.MODEL_ROLLED_BACK, Change.SPLIT: Action.MODEL_SPLIT}


async def _locked(session: AsyncSession, alias: str) -> ModelRow:
    row = await session.get(ModelRow, alias, with_for_update=True)
    if row is None:
        raise NotFoundError(f"There is no model '{alias}'.")
    return row


async def _changes(session: AsyncSession, alias: str) -> list[ModelChangeRow]:
    rows = await session.scalars(
        select(ModelChangeRow).where(ModelChangeRow.alias == alias).order_by(ModelChangeRow.id)
    )
    return list(rows)


def _stood(changes: Iterable[ModelChangeRow]) -> list[tuple[str, dict[str, int]]]:
    """What one can go back to, the present last: a version, and the weights where it was split."""
    stood: list[tuple[str, dict[str, int]]] = []
    for change in changes:
        if change.change == Change.REMOVED:
            stood.clear()
        elif change.change == Change.ROLLED_BACK:
            stood.pop()
        elif change.to_version is not None:
            stood.append((change.to_version, weights_of(change.split)))
    return stood


async def _change(
    session: AsyncSession,
    row: ModelRow,
    change: Change,
    version: str,
    by: str,
    *,
    comparison: Comparison | None = None,
    override: str | None = None,
    split: Mapping[str, int] | None = None,
) -> Promotion:
    """Let the alias name a version, split or not, and write down how that came."""
    for each in {version, *(split or ())}:
        kept = await session.get_one(ModelVersionRow, (row.alias, each))
        if (fault := template_fault(ModelSpec.model_validate(kept.spec))) is not None:
            raise ConflictError(f"'{reference(row.alias, each)}' cannot be asked: {fault}", mend="Train it again.")
    now = utc_now()
    written = ModelChangeRow(
        alias=row.alias,
        change=change,
        from_version=row.version,
        to_version=version,
        split=None if not split else dict(split),
        comparison=None if comparison is None else comparison.model_dump(mode="json"),
        override=override,
        principal=by,
        at=now,
    )
    session.add(written)
    details: JsonObject = {"from": row.version, "to": version, "override": override}
    if split or row.split:
        details["split"] = dict(split or {})
    row.version, row.split, row.updated = version, written.split, now
    await session.flush()
    await append(session, Deed(_DEEDS.get(change, Action.MODEL_PROMOTED), row.alias, details=details))
    return _promotion(written)


def _promotion(row: ModelChangeRow) -> Promotion:
    return Promotion(
        id=row.id,
        alias=row.alias,
        change=Change(row.change),
        from_version=row.from_version,
        to_version=row.to_version,
        comparison=None if row.comparison is None else Comparison.model_validate(row.comparison),
        override=row.override,
        split=weights_of(row.split),
        by=row.principal,
        at=row.at,
    )
