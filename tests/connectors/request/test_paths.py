"""A value in a path never leaves it, whatever a server decodes."""

import posixpath
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from practicum.errors import CallError
from tests.connectors.documents import compiled, document, operation, path

CONNECTOR = compiled(
    document(
        {
            "/users/{id}/notes": {"get": operation(path("id"))},
            "/users/{id}": {"get": operation(path("id"), operationId="get_user")},
            "/users/export": {"get": operation(operationId="export")},
            "/users/import": {"post": operation(operationId="import")},
            "/files/{path}": {"get": operation(path("path"), operationId="file")},
            "/diffs/{id}": {"get": operation(path("id"), operationId="diff")},
            "/diffs/{id}.{kind}": {"get": operation(path("id"), path("kind"), operationId="diff_as")},
            "/pair/{a}{b}/x": {"get": operation(path("a"), path("b"), operationId="pair")},
        }
    ),
    base_url="http://127.0.0.1:1/api/v1",
)
CLIMBING = [
    "..",
    ".",
    "../admin",
    "../../admin",
    "a/../b",
    "%2e%2e",
    "%2E%2E%2Fadmin",
    "%252e%252e%252f",
    "..\\x",
    "..;a=b/x",
    "x/..",
]


def decoded_by_a_careless_server(url: str) -> str:
    """Decodes until nothing changes, takes backslashes for slashes and drops what follows `;`."""
    text = urlsplit(url).path
    while unquote(text) != text:
        text = unquote(text)
    parts = text.replace("\\", "/").split("/")
    return posixpath.normpath("/".join(part.partition(";")[0] if part.startswith(".") else part for part in parts))


@pytest.mark.parametrize("value", CLIMBING)
def test_climbing_is_refused(value: str) -> None:
    with pytest.raises(CallError, match="leave its place"):
        CONNECTOR.prepare("crm_act", {"id": value})


@pytest.mark.parametrize(("a", "b"), [(".", "."), (".", "%2e"), ("..", "/x"), (".", "./x")])
def test_climbing_together_is_refused(a: str, b: str) -> None:
    with pytest.raises(CallError):
        CONNECTOR.prepare("crm_pair", {"a": a, "b": b})


@pytest.mark.parametrize("value", ["", "\x00", "a\nb", "\x7f"])
def test_empty_and_control_characters_are_refused(value: str) -> None:
    with pytest.raises(CallError):
        CONNECTOR.prepare("crm_act", {"id": value})


@pytest.mark.parametrize(
    ("tool", "value", "other"),
    [("crm_get_user", "7/notes", "/users/{id}/notes"), ("crm_get_user", "export", "/users/export")],
)
def test_another_operation_cannot_be_reached_by_a_value(tool: str, value: str, other: str) -> None:
    with pytest.raises(CallError, match="another operation") as caught:
        CONNECTOR.prepare(tool, {"id": value})
    assert other in str(caught.value)


def test_what_no_other_operation_claims_is_just_a_value() -> None:
    assert CONNECTOR.prepare("crm_get_user", {"id": "import"}).request.url.endswith("/users/import")
    assert CONNECTOR.prepare("crm_file", {"path": "src/a b.py"}).request.url.endswith("/files/src%2Fa%20b.py")
    assert CONNECTOR.prepare("crm_get_user", {"id": "a..b"}).request.url.endswith("/users/a..b")
    assert CONNECTOR.prepare("crm_diff_as", {"id": "7", "kind": "patch"}).request.url.endswith("/diffs/7.patch")
    assert CONNECTOR.prepare("crm_diff", {"id": "7.patch"}).request.url.endswith("/diffs/7.patch")


@given(st.one_of(st.text(), st.text(alphabet="./%2eEfF\\;a", max_size=12)))
@example("..%2f..%2fadmin")
@example("....//")
@example("%c0%ae%c0%ae/")
def test_any_value_stays_in_its_segment_or_is_refused(value: str) -> None:
    try:
        request = CONNECTOR.prepare("crm_act", {"id": value}).request
    except CallError:
        return
    segment = urlsplit(request.url).path.removeprefix("/api/v1/users/").removesuffix("/notes")
    assert unquote(segment, errors="strict") == value
    assert "/" not in segment
    assert request.url.isascii()
    read = decoded_by_a_careless_server(request.url)
    assert read.startswith("/api/v1/users/")
    assert read.endswith("/notes")
