"""`Idempotency-Key`: a repeated request gets the first answer again and has no second effect."""

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from examples.systems.erp.problems import ProblemError
from examples.systems.practice import store_of
from examples.systems.store import Store

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
"""
TABLE = "answers"

_Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=255, description="Repeat it to repeat a request safely"),
]


class Once:
    """Performs one request in one transaction, and at most once per key.

    Only an answer of success is kept: a refused request changed nothing and may succeed later.
    """

    def __init__(self, db: Store, key: str | None, fingerprint: str) -> None:
        """Bind it to a request.

        Args:
            db: the database that the request changes and that remembers the answer.
            key: the caller's idempotency key.
            fingerprint: what tells this request from another with the same key.
        """
        self.db = db
        self._key = key
        self._fingerprint = fingerprint

    def answer(self, act: Callable[[], BaseModel], status: int = 201) -> Response:
        """Do it, or repeat the answer of the time it was done.

        Args:
            act: makes the change and returns the answer's body.
            status: status of the answer.

        Raises:
            ProblemError: the key came with another request before (422), or `act` refuses.
        """
        with self.db.transaction():
            first = self.db.row(f"SELECT * FROM {TABLE} WHERE id = :key", key=self._key) if self._key else None  # noqa: S608  # own name
            if first is not None:
                return self._repeated(str(first["fingerprint"]), str(first["body"]), int(first["status"] or 0))
            body = act().model_dump_json()
            if self._key:
                row = {"id": self._key, "fingerprint": self._fingerprint, "status": status, "body": body}
                self.db.insert(TABLE, row)
        return Response(body, status, media_type="application/json")

    def _repeated(self, fingerprint: str, body: str, status: int) -> Response:
        if fingerprint != self._fingerprint:
            detail = "this Idempotency-Key was used for another request"
            raise ProblemError(422, "idempotency-key-reused", "Idempotency key reused", detail)
        return Response(body, status, {"Idempotency-Replayed": "true"}, "application/json")


async def once(request: Request, db: Annotated[Store, Depends(store_of)], key: _Key = None) -> Once:
    """Read the key of a request; a dependency of operations that change something."""
    seen = b"\n".join((request.method.encode(), request.url.path.encode(), await request.body()))
    return Once(db, key, hashlib.sha256(seen).hexdigest())
