"""Where calls go."""

import pytest

from practicum.contracts.connectors import Fidelity
from practicum.errors import DocumentError
from tests.connectors.documents import Json, compiled, document, operation


@pytest.mark.parametrize(
    ("servers", "own", "base_url", "source", "called"),
    [
        ([{"url": "https://api.example.com/v1/"}], None, None, None, "https://api.example.com/v1"),
        ([{"url": "https://api.example.com/v1"}], None, "http://127.0.0.1:8000/x/", None, "http://127.0.0.1:8000/x"),
        ([{"url": "/v2"}], None, None, "https://docs.example.com/a/openapi.json", "https://docs.example.com/v2"),
        ([], None, None, "http://127.0.0.1:9/openapi.json", "http://127.0.0.1:9"),
        (
            [{"url": "https://{t}.example.com", "variables": {"t": {"default": "eu"}}}],
            None,
            None,
            None,
            "https://eu.example.com",
        ),
        ([{"url": "https://a.example.com"}], "https://b.example.com", None, None, "https://b.example.com"),
        (
            [{"url": "https://a.example.com"}],
            "https://b.example.com",
            "http://c.example.com",
            None,
            "http://c.example.com",
        ),
    ],
)
def test_servers(servers: list[Json], own: str | None, base_url: str | None, source: str | None, called: str) -> None:
    made = operation() | ({"servers": [{"url": own}]} if own else {})
    connector = compiled(document({"/x": {"get": made}}, servers=servers), base_url=base_url, source=source)
    assert connector.prepare("crm_act", {}).request.url == f"{called}/x"


TENANT: Json = {
    "url": "https://{tenant}.{region}.example.com/{path}",
    "name": "cloud",
    "variables": {
        "tenant": {"description": "Yours."},
        "region": {"default": "eu", "enum": ["eu", "us"]},
        "path": {"default": "v1"},
    },
}
PLAIN: Json = {"url": "https://plain.example.com/", "name": "plain"}


@pytest.mark.parametrize(
    ("server", "variables", "called"),
    [
        (None, {"tenant": "acme"}, "https://acme.eu.example.com/v1"),
        ("cloud", {"tenant": "acme", "region": "us", "path": "v2"}, "https://acme.us.example.com/v2"),
        ("plain", {}, "https://plain.example.com"),
        ("https://plain.example.com", {"tenant": "unused"}, "https://plain.example.com"),
        ("https://{tenant}.{region}.example.com/{path}", {"tenant": "a"}, "https://a.eu.example.com/v1"),
    ],
)
def test_a_server_is_chosen_and_its_variables_set(server: str | None, variables: dict[str, str], called: str) -> None:
    made = document({"/x": {"get": operation()}}, servers=[TENANT, PLAIN])
    connector = compiled(made, base_url=None, server=server, variables=variables)
    assert connector.prepare("crm_act", {}).request.url == f"{called}/x"


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({}, ("'tenant'", "--set tenant=VALUE")),
        ({"variables": {"tenant": "a", "region": "cn"}}, ("'cn'", "eu, us")),
        ({"variables": {"tenant": "a", "regoin": "eu"}}, ("'regoin'", "`region`")),
        ({"server": "absent"}, ("'absent'", "`cloud`, `plain`")),
        ({"variables": {"tenant": "u:p@h/"}}, ("user name or password", "auth")),
        ({"base_url": "https://x.example.com", "server": "plain"}, ("`base_url`", "either")),
        ({"base_url": "https://x.example.com", "variables": {"tenant": "a"}}, ("`base_url`", "either")),
    ],
)
def test_what_the_document_does_not_know_is_one_clear_error(rest: Json, words: tuple[str, str]) -> None:
    made = document({"/x": {"get": operation()}}, servers=[TENANT, PLAIN])
    with pytest.raises(DocumentError) as caught:
        compiled(made, **{"base_url": None, **rest})
    assert words[0] in caught.value.detail
    assert words[1] in str(caught.value.mend)


def test_an_operations_own_servers_are_chosen_among_too() -> None:
    own: list[Json] = [
        {"url": "https://{pod}.files.example.com", "variables": {"pod": {}}},
        {"url": "https://f2", "name": "plain"},
    ]
    made = document({"/x": {"get": operation() | {"servers": own}}}, servers=[TENANT, PLAIN])
    assert compiled(made, base_url=None, server="plain").prepare("crm_act", {}).request.url == "https://f2/x"
    named = compiled(made, base_url=None, server="cloud", variables={"tenant": "t", "pod": "p1"})
    assert named.prepare("crm_act", {}).request.url == "https://p1.files.example.com/x"
    assert "'cloud'" in named.report[0].notes[0]
    (refused,) = compiled(made, base_url=None, variables={"tenant": "t"}).report
    assert refused.fidelity is Fidelity.REFUSED
    assert "'pod'" in refused.notes[0]


def test_a_base_url_is_the_callers_choice_and_no_loss() -> None:
    made = document({"/x": {"get": operation() | {"servers": [{"url": "https://own"}]}}}, servers=[PLAIN])
    connector = compiled(made, base_url="http://127.0.0.1:1")
    assert connector.report[0].fidelity is Fidelity.EXACT
    assert connector.prepare("crm_act", {}).request.url == "http://127.0.0.1:1/x"
