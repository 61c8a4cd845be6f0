import pytest
from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import ExpectedChange, Split, States, Task, Verdict
from practicum.tasks import verify
from practicum.tasks.verifier import contains

BEFORE: States = {
    "crm": {
        "notes": {"1": {"customer": "C1", "text": "old"}},
        "customers": {"C1": {"email": "a@b.example", "city": "Oslo"}},
    }
}
NEW_NOTE = ExpectedChange(system="crm", table="notes", fields={"customer": "C1"}, mentions={"text": ("1042",)})
NEW_EMAIL = ExpectedChange(system="crm", table="customers", record="C1", fields={"email": "c@d.example"})
NO_NOTE = ExpectedChange(system="crm", table="notes", record="1", removed=True)


def task(*expected: ExpectedChange, answer: str | None = None) -> Task:
    return Task(
        id="t", suite="s", split=Split.TRAIN, family="f", prompt="p", tools=(), expected=expected, answer=answer
    )


def after(**changed: dict[str, JsonObject]) -> States:
    return {"crm": {**BEFORE["crm"], **changed}}


def with_note(number: str, **fields: JsonValue) -> States:
    return after(notes={**BEFORE["crm"]["notes"], number: fields})


def test_the_expected_change_and_nothing_else_earns_one() -> None:
    assert verify(task(NEW_NOTE), BEFORE, with_note("7", customer="C1", text="Order 1042 broke."), None) == Verdict(
        reward=1
    )
    assert verify(task(), BEFORE, BEFORE, None).reward == 1
    assert verify(task(NO_NOTE), BEFORE, after(notes={}), None).reward == 1


def test_a_state_that_could_not_be_read_earns_no_verdict() -> None:
    verdict = verify(task(NEW_NOTE), BEFORE, None, "done")
    assert (verdict.reward, verdict.differences) == (None, ("the systems' states could not be read",))


@pytest.mark.parametrize(
    ("expected", "state", "difference"),
    [
        ((NEW_NOTE,), BEFORE, "missing: new record in crm/notes (customer='C1')"),
        ((NEW_EMAIL,), BEFORE, "missing: change of crm/customers/C1 (email='c@d.example')"),
        ((NO_NOTE,), BEFORE, "missing: removal of crm/notes/1"),
        ((), after(notes={}), "unexpected: crm/notes/1 removed"),
        ((), with_note("2", text="x"), "unexpected: crm/notes/2 created"),
        (
            (NEW_NOTE,),
            with_note("2", customer="C1", text="Order 10421"),
            "different: crm/notes/2: text does not mention '1042'",
        ),
        ((NEW_NOTE,), with_note("2", customer="C1", text=" "), "different: crm/notes/2: text is ' ', not a text"),
        (
            (NEW_NOTE,),
            with_note("2", customer="C1", text="1042", urgent=True),
            "different: crm/notes/2: urgent is True, which was not asked for",
        ),
        (
            (NEW_EMAIL,),
            after(customers={"C1": {"email": "c@d.example", "city": "Bern"}}),
            "different: crm/customers/C1: city is 'Bern', which was not asked for",
        ),
        (
            (NEW_EMAIL,),
            after(customers={"C1": {"email": "x@d.example", "city": "Oslo"}}),
            "different: crm/customers/C1: email is 'x@d.example', not 'c@d.example'",
        ),
    ],
)
def test_what_is_wrong_is_named(expected: tuple[ExpectedChange, ...], state: States, difference: str) -> None:
    assert verify(task(*expected), BEFORE, state, None) == Verdict(reward=0, differences=(difference,))


def test_two_new_records_match_whatever_ids_they_were_given() -> None:
    other = NEW_NOTE.model_copy(update={"fields": {"customer": "C2"}})
    two = with_note("2", customer="C2", text="1042")
    state = after(notes={**two["crm"]["notes"], "3": {"customer": "C1", "text": "1042"}})
    assert verify(task(NEW_NOTE, other), BEFORE, state, None).reward == 1
    assert verify(task(NEW_NOTE), BEFORE, state, None).differences == ("unexpected: crm/notes/2 created",)
    assert verify(task(NEW_NOTE, other, other), BEFORE, state, None).reward == 0


def test_free_text_without_words_takes_any_text() -> None:
    any_text = NEW_NOTE.model_copy(update={"mentions": {"text": ()}})
    assert verify(task(any_text), BEFORE, with_note("2", customer="C1", text="anything"), None).reward == 1
    assert verify(task(any_text), BEFORE, with_note("2", customer="C1", text=""), None).reward == 0
    assert verify(task(any_text), BEFORE, with_note("2", customer="C1", text=None), None).reward == 0


@pytest.mark.parametrize(("answer", "reward"), [("It is Delivered.", 1), ("undelivered", 0), ("", 0), (None, 0)])
def test_the_answer_says_what_was_asked(answer: str | None, reward: float) -> None:
    verdict = verify(task(answer="delivered"), BEFORE, BEFORE, answer)
    assert verdict.reward == reward
    assert verdict.differences == (() if reward else ("the answer does not say 'delivered'",))


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("12 left.", "12", True),
        ("There are 12.", "12", True),
        ("112 left", "12", False),
        ("12.5 left", "12", False),
        ("1.12 left", "12", False),
        ("Mail a@b.example, please", "a@b.example", True),
        ("aa@b.example", "a@b.example", False),
        ("TEST_LOGIN failed", "test_login", True),
        ("test_login_twice", "test_login", False),
    ],
)
def test_words_are_found_whole(text: str, words: str, *, found: bool) -> None:
    assert contains(text, words) is found
