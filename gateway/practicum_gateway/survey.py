"""The survey: everything that is counted and measured of a running gateway, gathered when somebody asks."""

import asyncio
import math
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

from sqlalchemy.exc import SQLAlchemyError

from practicum.contracts.audit import AuditCheck
from practicum_gateway.estate import Estate
from practicum_gateway.house import House
from practicum_gateway.metrics.instruments import At, Capped, Family, gauge, of_tenants
from practicum_gateway.store.standing import Standing, standing_of
from practicum_gateway.telemetry import Telemetry

_MOST_TENANTS = 100
_GOOD_FOR_SECONDS = 5.0
_FEW_TENANTS = 10
_TELL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    houses: tuple[tuple[str, tuple[Family, ...]], ...]


class Survey:
    """Gathers what is told at `/metrics` and to a collector."""

    def __init__(self, telemetry: Telemetry) -> None:
        """Gather from the process, and from the houses that it is given."""
        self._telemetry = telemetry
        self._tenant = Capped(_MOST_TENANTS)
        self._looking = asyncio.Lock()
        self._last = _Look(-math.inf, ())

    async def families(self, estate: Estate, *, ready: bool) -> list[Family]:
        """How everything stands.

        Args:
            estate: the houses of all tenants.
            ready: whether the gateway can work.
        """
        counted = [(self._tenant(house.tenant), tuple(house.meter.families())) for house in estate.houses]
        written = [(self._tenant(house.tenant), house.store.writes.families()) for house in estate.houses]
        async with self._looking:
            # With many tenants it is looked less often: watching must not take what there is to be watched.
            if time.monotonic() - self._last.at > _GOOD_FOR_SECONDS * max(1.0, len(estate.houses) / _FEW_TENANTS):
                houses = [(self._tenant(house.tenant), await _stands(house)) for house in estate.houses]
                self._last = _Look(time.monotonic(), tuple(houses))
        return [
            *_building(estate.main, ready=ready),
            *self._telemetry.requests.families(),
            *of_tenants(counted),
            *of_tenants(self._last.houses),
            *of_tenants(written),
            gauge("practicum.tool.calls_under_way", "{call}", "Tool calls under way.", estate.calls),
            *self._telemetry.process.families(),
        ]


async def tell(estate: Estate) -> None:
    """Send everything to the collector again and again; what it stands at when cancelled is sent once all is closed."""
    telemetry = estate.main.telemetry
    survey = Survey(telemetry)
    try:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            await asyncio.to_thread(
                telemetry.send, await survey.families(estate, ready=not estate.main.closing.is_set())
            )
    finally:
        telemetry.keep(await survey.families(estate, ready=False))


def _building(main: House, *, ready: bool) -> Iterator[Family]:
    built: dict[At, float] = {(version("practicum"), "sqlite" if main.store.is_embedded else "postgresql"): 1.0}
    yield gauge("practicum.build_info", "", "This release and its kind of store; always 1.", built, "version", "store")
    yield gauge("practicum.ready", "", "Whether /readyz answers 200.", float(ready))
    disk = shutil.disk_usage(main.settings.data_dir)
    yield gauge("practicum.disk.free", "By", "Free bytes where the data folder lies.", disk.free)
    yield gauge("practicum.disk.size", "By", "All bytes there.", disk.total)


async def _stands(house: House) -> tuple[Family, ...]:
    """What is looked up of a tenant; nothing where its store does not answer, which readiness tells."""
    try:
        standing = await standing_of(house.store)
    except (SQLAlchemyError, OSError):
        return ()
    return tuple(_gauges(standing, house.audit.checked))


def _gauges(now: Standing, checked: tuple[AuditCheck, float] | None) -> Iterator[Family]:
    yield gauge("practicum.approvals.pending", "{approval}", "Questions that wait for an answer.", now.pending)
    yield gauge("practicum.approvals.oldest", "s", "How long the oldest of them has waited.", now.oldest)
    yield gauge("practicum.approvals.expired", "{approval}", "Questions that nobody answered in time.", now.expired)
    alive: dict[At, float] = {("running",): now.running, ("waiting",): now.waiting}
    yield gauge("practicum.episodes", "{episode}", "Episodes that run, or wait for a person.", alive, "status")
    yield gauge("practicum.ledger.in_doubt", "{call}", "Calls that may have taken effect or not.", now.in_doubt)
    yield gauge("practicum.webhooks.waiting", "{message}", "Messages to webhooks that are due.", now.messages)
    yield gauge("practicum.webhooks.failures", "{try}", "The most failures in a row at one webhook.", now.failures)
    yield gauge("practicum.audit.entries", "{entry}", "Number of the audit log's last entry.", now.entries)
    yield gauge("practicum.store.size", "By", "Bytes that the store takes.", now.size)
    found: dict[At, float] = {} if checked is None else {(): float(checked[0].ok)}
    at: dict[At, float] = {} if checked is None else {(): checked[1]}
    yield gauge("practicum.audit.intact", "", "Whether the last check of the audit log found it whole.", found)
    yield gauge("practicum.audit.checked", "s", "When the audit log was last checked, since 1970.", at)
