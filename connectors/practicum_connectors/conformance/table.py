"""The published table of cases: what is tried and what must come of it, in Markdown."""

import json
from collections.abc import Mapping, Sequence

from practicum_connectors.conformance.case import SYSTEM, Case, Changed, Expected, Offered, Reported, Wire

_MOST_CHARACTERS = 120
_HEAD = """# Conformance

{count} small cases of our own, each a document with one construct and what must come of it: the request as it
arrives at a server, the import report, the tool, its definition for a provider, what is taken of a newer state of
the document, or what the model is told. They are written from the OpenAPI and
JSON Schema specifications, from RFC 3986, 6570, 6749, 7578 and 9110, and from what users of other converters
reported. They lie as data in `connectors/practicum_connectors/conformance/cases/`; the tests run all of them, and
so does

    practicum conformance

It prints what differs, takes a pattern (`practicum conformance 'bodies/form-*'`) and `--json`, and ends with 1 if
anything differs. Every case also checks that names, keys and schemas are valid for every provider, and do not
depend on the order of the document. `practicum conformance --markdown` writes this page.
"""


def markdown(cases: Mapping[str, Sequence[Case]]) -> str:
    """The table of all cases.

    Args:
        cases: by the name of their file.
    """
    parts = [_HEAD.format(count=sum(map(len, cases.values())))]
    for name, entries in cases.items():
        rows = [f"| {entry.id} | {_cell(entry.about)} | {_cell(summary(entry.expect))} |" for entry in entries]
        head = [
            f"## {name.capitalize()} ({len(entries)})",
            "",
            "| case | construct | what must come of it |",
            "|---|---|---|",
        ]
        parts.append("\n".join([*head, *rows]) + "\n")
    return "\n".join(parts)


def summary(expect: Expected) -> str:
    """What must come of a case, in a few words.

    Args:
        expect: what must.
    """
    if expect.error is not None:
        return "the document is refused" + _saying(expect.error)
    if expect.refused is not None:
        return "the call is refused" + _saying(expect.refused)
    said = [_wire(expect.requests[0])] if expect.requests is not None and len(expect.requests) == 1 else []
    if expect.requests is not None and len(expect.requests) != 1:
        said.append(", ".join(wire.line for wire in expect.requests) or "nothing is sent")
    if expect.seen is not None:
        said.append(f"told: {expect.seen.status}" + (", cut" if expect.seen.truncated else ""))
        said += [f"next: {expect.seen.next.line}"] if expect.seen.next else []
        said += [f"artifact {file.media_type}" for file in expect.seen.artifacts or ()]
    return "; ".join([*(said or [*_reports(expect), *_tools(expect)]), *_changes(expect)])


def _reports(expect: Expected) -> list[str]:
    given = expect.report or {}
    return [f"{where}: {entry.fidelity if isinstance(entry, Reported) else entry}" for where, entry in given.items()]


def _tools(expect: Expected) -> list[str]:
    return [f"{where}: {_offer(offered)}" for where, offered in expect.tools.items()]


def _changes(expect: Expected) -> list[str]:
    said = {"taken": expect.served, "waits": expect.held}
    return [f"{what}: {', '.join(map(_change, changes))}" for what, changes in said.items() if changes]


def _change(change: Changed) -> str:
    words = (change.kind.value, change.operation, change.where)
    return " ".join(word for word in words if word) + (" (breaks)" if change.breaking else "")


def _offer(offered: Offered) -> str:
    said = [offered.name, offered.effect and offered.effect.value, *sorted(offered.keys or ())]
    said += [f"{name} = {value}".lower() for name, value in offered.annotations.items()]
    named = [word for word in said if word]
    checks = len(offered.accepts) + len(offered.rejects)
    return ", ".join(named or [f"{checks} arguments judged" if checks else "described"])


def _wire(wire: Wire) -> str:
    kinds = {
        json.dumps(wire.value, ensure_ascii=False): wire.is_json,
        wire.xml or "": wire.xml is not None,
        "parts " + ", ".join(part.name for part in wire.parts or ()): wire.parts is not None,
        json.dumps(wire.text, ensure_ascii=False): wire.text is not None,
        f"base64 {wire.encoded}": wire.encoded is not None,
    }
    body = next((name for name, given in kinds.items() if given), None)
    heads = [f"{name}: {value}" for name, value in wire.headers.items() if value is not None]
    return ", ".join([wire.line, *heads, *([f"body {body}"] if body else [])])


def _saying(words: Sequence[str]) -> str:
    return f", naming {', '.join(words)}" if words else ""


def _cell(text: str) -> str:
    line = " ".join(text.replace(SYSTEM, "system").split())
    cut = line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 1]}…"
    return cut.replace("|", "\\|")
