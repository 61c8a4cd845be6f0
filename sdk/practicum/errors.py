"""Every error Practicum raises on purpose, one tree, named by the boundary crossed.

    PracticumError
    ├── ConfigurationError      settings, keys or files of this installation
    │   └── MissingExtraError   an optional dependency is not installed
    ├── DocumentError           an OpenAPI document cannot be used
    ├── RequestError            what was asked of the gateway makes no sense
    │   ├── NotFoundError
    │   └── ConflictError       the same name or idempotency key with other content
    ├── AccessError             who may call what
    │   ├── UnauthenticatedError
    │   └── ForbiddenError
    ├── CallError               the model's fault: shown to the model so that it can mend it
    ├── UpstreamError           a connected system answered badly or not at all
    │   └── InDoubtError        an unsafe call was sent and its answer lost
    ├── ModelProviderError      a model server or provider failed
    │   └── ModelBusyError      it asked to be left alone for a while
    ├── SecretSourceError       a store of secrets outside cannot be asked
    ├── EpisodeError            an episode cannot go on
    └── GatewayUnavailableError the gateway itself cannot be reached

The gateway renders each as problem+json (`Problem`), the client maps `code` back through `error_from_problem`: a closed
table, so that nothing on the wire can name a class.
"""

from typing import ClassVar

from practicum.contracts.problems import FieldProblem, Problem


class PracticumError(Exception):
    """Something went wrong inside Practicum; the root of the tree."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    retry_safe: ClassVar[bool] = False
    """Whether the same request may be sent again without harm and with hope."""

    def __init__(
        self,
        detail: str,
        *,
        mend: str | None = None,
        errors: tuple[FieldProblem, ...] = (),
        retry_after: float | None = None,
        quoted: str | None = None,
    ) -> None:
        """Say what happened.

        Args:
            detail: what happened, where.
            mend: what the reader can do about it.
            errors: single faults, where there are several.
            retry_after: seconds to wait before asking again, where the other side said so.
            quoted: the part of `detail` that somebody else said, who may have said what is nobody's business.
        """
        super().__init__(detail)
        self.detail = detail
        self.logged = detail.replace(quoted, "...") if quoted else detail
        """`detail` without what is quoted: all of it that a log may hold."""
        self.mend = mend
        self.errors = errors
        self.retry_after = retry_after
        self.trace: str | None = None

    def __str__(self) -> str:
        """The whole message as a person reads it."""
        lines = [self.detail, *(f"  {fault.where}: {fault.what}" for fault in self.errors)]
        if self.mend:
            lines.append(f"  -> {self.mend}")
        return "\n".join(lines)

    def problem(self, trace: str | None = None) -> Problem:
        """This error as it travels."""
        return Problem(
            title=self.title,
            status=self.status,
            detail=self.detail,
            code=self.code,
            mend=self.mend,
            errors=self.errors,
            retry_after=self.retry_after,
            trace=trace or self.trace,
        )


class ConfigurationError(PracticumError):
    """Settings, keys or files of this installation do not fit."""

    code = "configuration"
    title = "Configuration error"


class MissingExtraError(ConfigurationError):
    """An optional dependency is needed and not installed."""

    code = "missing_extra"
    title = "Missing extra"

    def __init__(self, extra: str, purpose: str) -> None:
        """Say which extra and how to install it.

        Args:
            extra: name of the extra.
            purpose: what needs it.
        """
        super().__init__(
            f"{purpose} needs the extra '{extra}'.", mend=f"Install it with: pip install 'practicum[{extra}]'"
        )


class DocumentError(PracticumError):
    """An OpenAPI document cannot be used."""

    code = "document"
    status = 422
    title = "Document error"


class RequestError(PracticumError):
    """What was asked of the gateway makes no sense."""

    code = "request"
    status = 422
    title = "Invalid request"


class NotFoundError(RequestError):
    """The thing asked for does not exist, or not for this caller."""

    code = "not_found"
    status = 404
    title = "Not found"


class ConflictError(RequestError):
    """The same name or idempotency key is in use with other content."""

    code = "conflict"
    status = 409
    title = "Conflict"


class AccessError(PracticumError):
    """The caller may not do this."""

    code = "access"
    status = 403
    title = "Access refused"


class UnauthenticatedError(AccessError):
    """No valid key came with the request."""

    code = "unauthenticated"
    status = 401
    title = "Not authenticated"


class ForbiddenError(AccessError):
    """The key is valid and does not reach this far."""

    code = "forbidden"
    title = "Forbidden"


class BudgetError(AccessError):
    """A budget of calls, tokens or money is used up."""

    code = "budget"
    status = 429
    title = "Budget used up"


class CallError(PracticumError):
    """A tool call does not fit its tool; the model can mend it."""

    code = "call"
    status = 422
    title = "Invalid tool call"


class UpstreamError(PracticumError):
    """A connected system answered badly or not at all."""

    code = "system"
    status = 502
    title = "System failed"
    retry_safe = True


class InDoubtError(UpstreamError):
    """An unsafe call was sent and its answer was lost: it may have taken effect."""

    code = "in_doubt"
    title = "Outcome in doubt"
    retry_safe = False


class ModelProviderError(PracticumError):
    """A model server or provider failed."""

    code = "model_provider"
    status = 502
    title = "Model provider failed"
    retry_safe = True


class SecretSourceError(PracticumError):
    """A store in which secrets are kept outside cannot be asked."""

    code = "secret_source"
    status = 502
    title = "Secrets cannot be read"
    retry_safe = True


class ModelBusyError(ModelProviderError):
    """A model's provider asked not to be asked for a while."""

    code = "model_busy"
    status = 429
    title = "Model provider busy"


class EpisodeError(PracticumError):
    """An episode cannot go on."""

    code = "episode"
    status = 409
    title = "Episode cannot go on"


class GatewayUnavailableError(PracticumError):
    """The gateway cannot be reached."""

    code = "gateway_unavailable"
    status = 503
    title = "Gateway unavailable"
    retry_safe = True


_BY_CODE: dict[str, type[PracticumError]] = {
    error.code: error
    for error in (
        PracticumError,
        ConfigurationError,
        DocumentError,
        RequestError,
        NotFoundError,
        ConflictError,
        AccessError,
        UnauthenticatedError,
        ForbiddenError,
        BudgetError,
        CallError,
        UpstreamError,
        InDoubtError,
        ModelProviderError,
        ModelBusyError,
        SecretSourceError,
        EpisodeError,
        GatewayUnavailableError,
    )
}


def error_from_problem(problem: Problem) -> PracticumError:
    """The typed error that a problem stands for; an unknown code becomes the root error."""
    error = _BY_CODE.get(problem.code, PracticumError)(
        problem.detail, mend=problem.mend, errors=problem.errors, retry_after=problem.retry_after
    )
    error.trace = problem.trace
    return error
