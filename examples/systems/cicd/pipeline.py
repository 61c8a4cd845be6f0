"""The work behind the API: builds and deployments that are accepted now and done a little later."""

import math
from collections.abc import Callable
from typing import Any

from examples.systems.practice import Books
from examples.systems.store import Row, State, Store

_SCHEMA = """
CREATE TABLE IF NOT EXISTS services (
    id TEXT PRIMARY KEY, live_build INTEGER, previous_build INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS builds (
    id INTEGER PRIMARY KEY, service TEXT NOT NULL, status TEXT NOT NULL, failed_test TEXT, retry_of INTEGER,
    _ready REAL
) STRICT;
CREATE TABLE IF NOT EXISTS deployments (
    id INTEGER PRIMARY KEY, service TEXT NOT NULL, build_id INTEGER NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, _ready REAL
) STRICT;
"""


def open_store(path: str) -> Store:
    """The system's database at this path."""
    return Store(path, _SCHEMA, ("services", "builds", "deployments"))


class Pipeline(Books):
    """Starts work and finishes what is due; the state is told as it is once all work is done."""

    def __init__(self, store: Store, seed: State | None, seconds: float, clock: Callable[[], float]) -> None:
        """Open the pipeline.

        Args:
            store: the system's database.
            seed: what it begins with and is reset to.
            seconds: how long a build or a deployment takes.
            clock: seconds since some fixed moment.
        """
        super().__init__(store, seed)
        self._seconds = seconds
        self._clock = clock

    def at_rest(self) -> State:
        """The state as it will be when every build and deployment is done; nothing is hurried by asking."""
        self.store.write("BEGIN IMMEDIATE")
        try:
            self._finish(math.inf)
            return self.store.dump()
        finally:
            self.store.write("ROLLBACK")

    def finish_due(self) -> None:
        """Finish the work whose time has come."""
        with self.store.transaction():
            self._finish(self._clock())

    def retry(self, build: Row) -> Row:
        """Start the same build again, inside the caller's transaction; returns the new one."""
        row: Row = {"service": build["service"], "status": "running", "failed_test": None, "retry_of": build["id"]}
        return self._start("builds", "retry_build", row)

    def deploy(self, service: str, build: int, kind: str) -> Row:
        """Start to bring a build of the service live, inside the caller's transaction; returns the deployment.

        Args:
            service: the service.
            build: the build to bring live.
            kind: `release` or `rollback`.
        """
        row: Row = {"service": service, "build_id": build, "kind": kind, "status": "running"}
        return self._start("deployments", "rollback_service" if kind == "rollback" else "deploy_build", row)

    def _start(self, table: str, operation: str, row: Row) -> Row:
        number = self.store.insert(table, {**row, "_ready": self._clock() + self._seconds})
        self.store.count_effect(operation, f"{table}/{number}", row)
        return {"id": number, **row}

    def _finish(self, now: float) -> None:
        due = "status = 'running' AND _ready <= :now"
        self.store.write(f"UPDATE builds SET status = 'passed' WHERE {due}", now=now)  # noqa: S608  # own words
        for row in self.store.rows(f"SELECT * FROM deployments WHERE {due} ORDER BY id", now=now):  # noqa: S608  # own words
            self.store.write("UPDATE deployments SET status = 'succeeded' WHERE id = :id", id=row["id"])
            self.store.write(
                "UPDATE services SET previous_build = live_build, live_build = :build WHERE id = :service",
                build=row["build_id"],
                service=row["service"],
            )


def log_of(build: dict[str, Any]) -> str:
    """A build's log, short and always the same for the same build."""
    lines = [f"build {build['id']} of {build['service']}", "compile: ok"]
    if build["status"] == "running":
        return "\n".join([*lines, "test: running", ""])
    if build["status"] == "passed":
        return "\n".join([*lines, "test: 42 passed", ""])
    return "\n".join([*lines, f"FAILED {build['failed_test']}", "test: 1 failed, 41 passed", ""])
