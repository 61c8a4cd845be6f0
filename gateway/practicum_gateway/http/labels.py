"""Labels as query parameters."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field

from practicum.errors import RequestError

_Label = Annotated[str, Field(json_schema_extra={"pattern": "^[^:\\u0000]+:[^\\u0000]*$"})]


def labels_of(
    metadata: Annotated[Sequence[_Label], Query(description="`name:value`; repeat it to ask for several labels.")] = (),
) -> dict[str, str]:
    """The labels that are asked for.

    Raises:
        RequestError: one is not of the form `name:value`, or holds a NUL.
    """
    labels: dict[str, str] = {}
    for label in metadata:
        name, colon, value = label.partition(":")
        if not colon or not name or "\0" in label:
            raise RequestError(f"'{label[:100]}' is no label.", mend="Write metadata=name:value.")
        labels[name] = value
    return labels


Labels = Annotated[dict[str, str], Depends(labels_of)]
"""Labels as a router's parameter."""
