import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.catalogue.names import Nameable, distinct_keys, name_operations, safe_key
from tests.connectors.documents import compiled, document

VALID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def named(*operations: tuple[str | None, str, str], connector: str = "crm") -> list[str]:
    return [naming.tool for naming in name_operations(connector, [Nameable(*each) for each in operations])]


@pytest.mark.parametrize(
    ("operation_id", "method", "path", "name"),
    [
        ("getOrder", "GET", "/orders/{id}", "crm_getOrder"),
        ("repos/get", "GET", "/r", "crm_repos_get"),
        ("get order.v2", "GET", "/r", "crm_get_order_v2"),
        ("Aufträge lesen", "GET", "/r", "crm_Auftrage_lesen"),
        ("読む", "GET", "/r/{id}", "crm_get_r_by_id"),
        (None, "GET", "/a/{b}/c", "crm_get_a_by_b_c"),
        ("", "POST", "/a-b/{c-d}", "crm_post_a-b_by_c-d"),
        (None, "GET", "/", "crm_get"),
        ("__x__", "GET", "/x", "crm_x"),
    ],
)
def test_a_name_is_close_to_the_operations_own(operation_id: str | None, method: str, path: str, name: str) -> None:
    assert named((operation_id, method, path)) == [name]


def test_long_names_are_cut_at_the_final_length() -> None:
    long = "a" * 75
    (name,) = named((long, "GET", "/x"), connector="c" * 31)
    assert len(name) == 64
    assert named((long, "GET", "/x"), (long, "GET", "/y"))[0] != named((long, "GET", "/x"), (long, "GET", "/y"))[1]


def test_shared_and_clashing_names_are_told_apart() -> None:
    names = named(
        ("a.b", "GET", "/x"), ("a_b", "GET", "/y"), ("same", "GET", "/x"), ("same", "DELETE", "/x"), ("c", "GET", "/c")
    )
    assert len(set(names)) == 5
    assert names[4] == "crm_c"
    assert all(re.fullmatch(r"crm_(a_b|same)_[0-9a-f]{8}", name) or name == "crm_c" for name in names)


def test_access_patterns_match_unique_operation_names() -> None:
    paths = {f"/{n}": {"get": {"operationId": "same"}} for n in range(3)} | {
        "/r": {"get": {"operationId": "repos/get"}}
    }
    names = [tool.operation for tool in compiled(document(paths)).tools.values()]
    assert len(set(names)) == 4
    assert "repos/get" in names


OPERATIONS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.text(max_size=90), st.sampled_from(["a", "a_", "a.", "A", "b" * 90])),
        st.sampled_from(["GET", "POST"]),
        st.text(alphabet="ab/{}-", max_size=12).map(lambda text: f"/{text}"),
    ),
    unique_by=lambda each: each[1:],
    min_size=1,
    max_size=20,
)


@given(OPERATIONS, st.randoms())
def test_names_are_valid_unique_and_independent_of_order(
    operations: list[tuple[str | None, str, str]], random: object
) -> None:
    names = dict(zip(operations, named(*operations), strict=True))
    assert all(VALID.fullmatch(name) for name in names.values())
    assert len(set(names.values())) == len(operations)
    shuffled = sorted(operations, key=lambda each: hash((each, random)))
    assert dict(zip(shuffled, named(*shuffled), strict=True)) == names


@pytest.mark.parametrize(
    ("wire", "key"),
    [
        ("userId", "userId"),
        ("$filter", "filter"),
        ("page[size]", "page_size"),
        ("uids[]", "uids"),
        ("StartTime<", "StartTime_lt"),
        ("StartTime>=", "StartTime_ge"),
        ("user.name", "user.name"),
        ("X-Tenant", "X-Tenant"),
        ("_id", "_id"),
        ("größe", "groe"),
        ("名", "argument"),
        ("a b", "a_b"),
        ("x" * 70, "x" * 64),
    ],
)
def test_property_keys_are_safe_and_close_to_the_wire(wire: str, key: str) -> None:
    assert safe_key(wire) == key


@given(
    st.lists(st.tuples(st.text("ab[]_$.é", min_size=1, max_size=80), st.sampled_from(["path", "query"])), unique=True),
    st.randoms(),
)
def test_keys_are_distinct_safe_and_whose_they_are_in_any_order(names: list[tuple[str, str]], random: Random) -> None:
    keys = distinct_keys(names)
    assert len(set(keys)) == len(names)
    assert all(KEY.fullmatch(key) for key in keys)
    shuffled = random.sample(names, len(names))
    assert dict(zip(shuffled, distinct_keys(shuffled), strict=True)) == dict(zip(names, keys, strict=True))


def test_a_safe_name_keeps_its_key() -> None:
    assert distinct_keys([("a[b]", "query"), ("a_b", "query")]) == ["a_b_query", "a_b"]
    assert distinct_keys([("id", "member"), ("id", "path")]) == ["id_member", "id"]
    assert distinct_keys([("next", "query")], reserved={"next"}) == ["next_query"]
