"""Artifacts: bytes that systems answered and no model is shown, kept for a while and only for who asked for them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from sqlalchemy import delete, select

from practicum.contracts.base import utc_now
from practicum.errors import CallError, NotFoundError
from practicum_connectors.exchange import Payload
from practicum_gateway.store.artifact_tables import ArtifactRow
from practicum_gateway.store.engine import Store

KEPT = timedelta(days=7)
"""How long an artifact can be fetched or given to a further call, from when it was last answered."""


class Artifacts:
    """Keeps artifacts by their scope, an episode or a principal outside one; none knows of another's."""

    def __init__(self, store: Store) -> None:
        """Keep them in a store."""
        self._store = store

    async def keep(self, scope: str, payloads: Sequence[tuple[str, Payload]]) -> None:
        """Keep what a call was answered, and let go of what is too old.

        Args:
            scope: whose it is.
            payloads: bytes by their id; ids come from the content, so the same again is kept longer.
        """
        if not payloads:
            return
        now = utc_now()
        # In turn: two calls may be answered the same bytes at the same moment.
        async with self._store.write(in_turn=True) as session:
            await session.execute(delete(ArtifactRow).where(ArtifactRow.expires <= now))
            for name, payload in payloads:
                await session.merge(
                    ArtifactRow(
                        scope=scope,
                        id=name,
                        media_type=payload.media_type,
                        name=payload.name,
                        complete=payload.complete,
                        content=payload.content,
                        expires=now + KEPT,
                    )
                )

    async def get(self, scope: str, artifact: str) -> Payload:
        """One artifact.

        Raises:
            NotFoundError: this scope has none of that id, or not any more.
        """
        found = await self._found(scope, [artifact])
        if artifact not in found:
            raise NotFoundError(
                f"There is no artifact '{artifact}'.", mend=f"Artifacts are kept for {KEPT.days} days; call again."
            )
        return found[artifact]

    async def given(self, scope: str, artifacts: Collection[str]) -> Mapping[str, Payload]:
        """The artifacts that a call names in its arguments.

        Raises:
            CallError: one is not there; the model is told so.
        """
        found = await self._found(scope, artifacts) if artifacts else {}
        if missing := sorted(set(artifacts) - set(found)):
            raise CallError(
                f"There is no artifact {', '.join(missing)}.",
                mend="Name one that an earlier answer of this episode gave, or give the content itself.",
            )
        return found

    async def _found(self, scope: str, artifacts: Collection[str]) -> dict[str, Payload]:
        async with self._store.read() as session:
            rows = await session.scalars(
                select(ArtifactRow).where(
                    ArtifactRow.scope == scope, ArtifactRow.id.in_(artifacts), ArtifactRow.expires > utc_now()
                )
            )
            return {row.id: Payload(row.media_type, row.name, row.content, row.complete) for row in rows}
