"""What schemathesis is told of the gateway besides its document; it loads this by name, in a process of its own."""

import os
import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response

from practicum.contracts.problems import FieldProblem, Problem
from practicum.errors import error_from_problem

OWN_KEY = "FUZZ_KEY_ID"
"""The environment variable that holds the id of the key with which schemathesis comes: it must not revoke it."""
_SAID_BY_THE_DOCUMENT = "The request does not fit."
_TAKEN_LENIENTLY = re.compile(r": Incorrect type$|\(was \w+, became (number|integer|boolean|array)\)$")
"""`false` is taken for 0, 1 for `true`, a number for a moment; of what a query says twice, the last counts."""


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType]
def filter_case(context: HookContext, case: Case[Any]) -> bool:
    """Leave the own key alone, else every later answer is 401 and nothing is tried any more."""
    _ = context
    return case.path_parameters.get("key_id") != os.environ[OWN_KEY]


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType]
def filter_failure(context: HookContext, failure: Any, case: Case[Any], response: Response) -> bool:
    """Whether a failure counts: all do, but

    - a refusal by a rule that a JSON Schema cannot say. That a document of a system is none, that budgets contradict
      each other, that arguments do not fit their tool: such refusals are right, although the body fits the document;
    - that a value of another type was taken which says the same;
    - that a part of a resource is not there, such as the practice copies of an episode that has none.
    """
    _ = context
    kind = type(failure).__name__
    if kind == "AcceptedNegativeData":
        return _TAKEN_LENIENTLY.search(failure.message) is None
    if kind == "EnsureResourceAvailability":
        return case.operation.path.endswith("}")
    if kind != "RejectedPositiveData" or response.status_code != 422:
        return True
    problem = _problem_of(response)
    return problem.detail == _SAID_BY_THE_DOCUMENT and not all(_is_rule(fault) for fault in problem.errors)


def _problem_of(response: Response) -> Problem:
    members: dict[str, Any] = response.json()
    members.pop("error", None)  # chat completions have it for OpenAI's clients
    return Problem.model_validate(members)


def _is_rule(fault: FieldProblem) -> bool:
    """Whether it is in our own words, which begin small; pydantic's begin with a capital."""
    return not fault.what[:1].isupper()


@schemathesis.check
def errors_are_problems(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """Every error is problem+json with a code of the closed table."""
    _ = ctx, case
    if response.status_code < 400:
        return
    assert response.headers["content-type"] == ["application/problem+json"], "an error that is no problem"
    problem = _problem_of(response)
    assert problem.status == response.status_code, "a problem that speaks of another status"
    assert error_from_problem(problem).code == problem.code, "a code that is not in the table"
    assert problem.trace is not None, "a problem without a trace"
