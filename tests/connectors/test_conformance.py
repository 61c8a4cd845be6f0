"""The cases that come with the package, and that the runner sees what is wrong."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from practicum_connectors.conformance import Case, load_cases, markdown, read_cases, run

CASES = load_cases()
PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
FEWEST = 120


def named() -> Iterator[tuple[str, Case]]:
    for name, cases in CASES.items():
        for case in cases:
            yield f"{name}/{case.id}", case


@pytest.mark.parametrize("name", CASES)
def test_every_case_comes_out_as_it_must(name: str) -> None:
    outcomes = run(CASES[name])
    differing = {outcome.case.id: outcome.differences for outcome in outcomes if not outcome.passed}
    assert not differing


def test_there_are_enough_cases_and_each_has_a_name_of_its_own() -> None:
    names = [name for name, _ in named()]
    assert len(names) >= FEWEST
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_the_published_table_is_that_of_the_cases() -> None:
    assert PAGE.read_text() == markdown(CASES), "write it anew: practicum conformance --markdown > docs/conformance.md"


GOOD = """
- id: good
  about: a query
  document: {paths: {/t: {get: {parameters: [{name: q, in: query, schema: {type: integer}}]}}}}
  call: {arguments: {q: 1}}
  answers: [{json: [1]}]
  expect: {request: "GET /t?q=1", seen: {json: [1]}, tools: {"GET /t": {keys: [q], accepts: [{q: 1}]}}}
"""


def test_a_good_case_passes() -> None:
    (outcome,) = run(read_cases(GOOD))
    assert outcome.passed


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        ("GET /t?q=1", "GET /t?q=2", "request line"),
        ("{arguments: {q: 1}}", "{arguments: {q: x}}", "refused"),
        ("json: [1]}, tools", "json: [true]}, tools", "content"),
        ("keys: [q]", "keys: [q, r]", "keys"),
        ("accepts: [{q: 1}]", "accepts: [{q: x}]", "schema refuses"),
        ("accepts: [{q: 1}]", "rejects: [{q: 1}]", "schema accepts"),
        ("accepts: [{q: 1}]", "effect: delete", "effect"),
        ("accepts: [{q: 1}]", "name: other", "name"),
        ('request: "GET /t?q=1"', "refused: [q]", "not refused"),
        ('request: "GET /t?q=1"', "requests: []", "arrived"),
        ('request: "GET /t?q=1"', "error: []", "not refused"),
        ('request: "GET /t?q=1"', 'report: {"GET /t": degraded}', "exact"),
        ('request: "GET /t?q=1"', "report: {}", "report is about"),
        ('request: "GET /t?q=1"', 'request: {line: "GET /t?q=1", json: 1}', "body"),
        ('request: "GET /t?q=1"', 'request: {line: "GET /t?q=1", headers: {X-A: b}}', "X-A"),
        ("answers: [{json: [1]}]", "answers: [{status: 404, json: [1]}]", "status|error, not ok"),
        ("seen: {json: [1]}", 'seen: {json: [1], next: "GET /t?q=2"}', "handle"),
        ("seen: {json: [1]}", "seen: {json: [1], warnings: [odd]}", "warnings"),
        ("seen: {json: [1]}", "seen: {json: [1], artifacts: [{media_type: text/csv, text: x}]}", "artifacts"),
        ("name: q, in: query", "name: q, in: path", "no tool|degraded"),
    ],
)
def test_what_is_wrong_is_seen(right: str, wrong: str, word: str) -> None:
    assert right in GOOD
    (outcome,) = run(read_cases(GOOD.replace(right, wrong)))
    assert re.search(word, " ".join(outcome.differences))


PROFILED = """
- id: profiled
  about: an optional argument in strict mode
  document:
    paths:
      /t: {post: {operationId: a, summary: A, parameters: [{name: q, in: query, schema: {type: integer}}]}}
  profile: openai_strict
  call: {arguments: {q: null}}
  expect:
    definition:
      type: function
      function:
        name: case_a
        description: A.
        parameters:
          {type: object, properties: {q: {type: [integer, "null"]}}, required: [q], additionalProperties: false}
        strict: true
    request: POST /t
"""
REVISED = """
- id: revised
  about: a new argument and other words
  document: {paths: {/t: {get: {operationId: a}}, /u: {get: {operationId: b, summary: Old}}}}
  newer:
    paths:
      /t: {get: {operationId: a, parameters: [{name: q, in: query, required: true, schema: {}}]}}
      /u: {get: {operationId: b, summary: New}}
  expect:
    served: [{kind: description, operation: b}]
    held: [{kind: new_required, operation: a, where: arguments.q, breaking: true}]
"""


@pytest.mark.parametrize("text", [PROFILED, REVISED])
def test_profiles_and_newer_states_pass(text: str) -> None:
    (outcome,) = run(read_cases(text))
    assert outcome.passed, outcome.differences


@pytest.mark.parametrize(
    ("text", "right", "wrong", "word"),
    [
        (PROFILED, "required: [q]", "required: []", "definition"),
        (PROFILED, "profile: openai_strict", "profile: openai", "definition"),
        (PROFILED, "request: POST /t", 'request: "POST /t?q=1"', "request line"),
        (REVISED, "served: [{kind: description, operation: b}]", "served: []", "in force"),
        (REVISED, "operation: b}]", "operation: a}]", "in force"),
        (REVISED, "breaking: true", "breaking: false", "waiting"),
        (REVISED, "required: true, ", "", "waiting"),
    ],
)
def test_what_is_wrong_with_profiles_and_newer_states_is_seen(text: str, right: str, wrong: str, word: str) -> None:
    assert right in text
    (outcome,) = run(read_cases(text.replace(right, wrong)))
    assert re.search(word, " ".join(outcome.differences))


def test_a_misspelled_expectation_is_an_error() -> None:
    with pytest.raises(ValueError, match="aceepts"):
        read_cases(GOOD.replace("accepts", "aceepts"))
