"""Problem details (RFC 9457): the one shape in which an error travels."""

from practicum.contracts.base import Value


class FieldProblem(Value):
    """One thing that is wrong, and where.

    Attributes:
        where: JSON Pointer or dotted path to the offending value.
        what: what is wrong with it, in words.
    """

    where: str
    what: str


class Problem(Value):
    """An error as `application/problem+json`.

    Attributes:
        type: URI reference of the kind of problem; `about:blank` unless documented.
        title: the kind of problem in a few words; the same for each occurrence.
        status: the HTTP status.
        detail: what happened this time.
        code: stable machine-readable name, from the table in `practicum.errors`.
        mend: what the reader can do about it.
        errors: the single faults, where there are several.
        retry_after: seconds to wait before asking again, where that is known.
        trace: the trace id under which the operator finds it.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    mend: str | None = None
    errors: tuple[FieldProblem, ...] = ()
    retry_after: float | None = None
    trace: str | None = None
