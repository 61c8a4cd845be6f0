"""The invocation pipeline: the one way in which a tool is called."""

from practicum.contracts.tools import Observation
from practicum_gateway.invocation.intent import Intent


class Pipeline:
    """Authenticate, decide, validate, ledger, inject, send, shape, record."""

    async def invoke(self, intent: Intent) -> Observation:
        """Make the call, once, and say how it ended or that it waits.

        A repeated key returns the recorded outcome; a repeated key of a waiting call looks at its approval again.

        Raises:
            ConflictError: the key is in use with another tool or other arguments.
            ForbiddenError: the principal may not act in this episode.
            NotFoundError, CallError: only with `raise_call_errors`.
        """
        raise NotImplementedError
