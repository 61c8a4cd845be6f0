"""What every wire value shares: it is frozen, and an unknown field is an error."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints

JsonObject = dict[str, JsonValue]
"""A JSON object as it travels."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
"""A short name chosen by a person: a connector, an alias. Lower case, so that tool names stay valid everywhere."""

Label = Annotated[str, StringConstraints(pattern=r"^[^\u0000]*$")]
"""Name or value of a label. Labels are looked for by the store, and no database finds a NUL in a document."""


class Value(BaseModel):
    """A frozen value that crosses a process boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def utc_now() -> datetime:
    """The present moment with its time zone, the only clock the house reads."""
    return datetime.now(UTC)
