import pytest

from practicum.contracts.tasks import States
from practicum.errors import ConfigurationError
from practicum.tasks import ChangeKind, RecordChange, changes, states_of


def test_equal_states_have_no_changes_and_a_missing_system_is_an_empty_one() -> None:
    state: States = {"crm": {"notes": {"1": {"text": "a"}}}}
    assert changes(state, {"crm": {"notes": {"1": {"text": "a"}}, "tickets": {}}, "erp": {}}) == ()


def test_each_record_that_differs_is_named_with_what_changed() -> None:
    before: States = {"crm": {"notes": {"1": {"text": "a", "by": "x"}, "2": {"text": "b"}}}}
    after: States = {"crm": {"notes": {"1": {"text": "a"}, "3": {"text": "c"}}}}
    assert changes(before, after) == (
        RecordChange("crm", "notes", "1", ChangeKind.UPDATED, {"by": None}),
        RecordChange("crm", "notes", "2", ChangeKind.REMOVED),
        RecordChange("crm", "notes", "3", ChangeKind.CREATED, {"text": "c"}),
    )


def test_a_change_says_where_it_is() -> None:
    assert RecordChange("crm", "notes", "3", ChangeKind.CREATED).where == "crm/notes/3"


@pytest.mark.parametrize("value", [None, [], {"crm": []}, {"crm": {"notes": {"1": "text"}}}])
def test_what_is_no_state_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match="Not a state"):
        states_of(value)


def test_a_state_stays_as_it_is() -> None:
    value = {"crm": {"notes": {"1": {"text": "a", "tags": ["x"], "count": 1}}}}
    assert states_of(value) == value
