"""What came of the episodes of an alias, by the version that they drew: counted in the store, in one statement."""

from datetime import datetime

from sqlalchemy import case, func, select

from practicum.contracts.episodes import EpisodeMode, EpisodeStatus
from practicum.contracts.outcomes import VersionOutcomes
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import EpisodeRow

_ALIVE = (EpisodeStatus.RUNNING, EpisodeStatus.WAITING)
_WHOLE = 1.0


async def outcomes_of(store: Store, alias: str, since: datetime | None = None) -> tuple[VersionOutcomes, ...]:
    """The live episodes of an alias by version; rollouts in training say nothing of how it does.

    Args:
        store: where the episodes are.
        alias: the model.
        since: only episodes that began then or later.
    """
    alive, scored = EpisodeRow.status.in_(_ALIVE), EpisodeRow.reward.is_not(None)

    query = (
        select(
            EpisodeRow.version,
            func.sum(case((alive, 1), else_=0)).label("running"),
            func.sum(case((~alive & ~scored, 1), else_=0)).label("unscored"),
            func.sum(case((~alive & scored, 1), else_=0)).label("scored"),
            func.sum(case((~alive & (EpisodeRow.reward >= _WHOLE), 1), else_=0)).label("successes"),
            func.sum(case((~alive, EpisodeRow.reward))).label("rewards"),
            func.min(case((~alive, EpisodeRow.reward))).label("least"),
            func.max(case((~alive, EpisodeRow.reward))).label("most"),
        )
        .where(EpisodeRow.model == alias, EpisodeRow.mode == EpisodeMode.LIVE, EpisodeRow.version.is_not(None))
        .group_by(EpisodeRow.version)
        .order_by(EpisodeRow.version)
    )
    if since is not None:
        query = query.where(EpisodeRow.created >= since)
    async with store.read() as session:
        rows = (await session.execute(query)).mappings().all()
    return tuple(VersionOutcomes.model_validate({**row, "rewards": row["rewards"] or 0.0}) for row in rows)
