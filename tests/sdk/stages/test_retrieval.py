import pytest

from practicum.contracts.messages import Message
from practicum.contracts.models import ExampleSet
from practicum.stages.retrieval import masked, nearest, nearest_by_vectors


def _solved(task: str, answer: str = "Done.") -> tuple[Message, ...]:
    return (Message(role="user", content=task), Message(role="assistant", content=answer))


def _set(*tasks: str, shown: int = 1) -> ExampleSet:
    return ExampleSet(episodes=tuple(_solved(task) for task in tasks), shown=shown)


def _found(task: str, examples: ExampleSet) -> list[str | None]:
    return [episode[0].content for episode in nearest(task, examples)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refund 12.50 on order 1042.", "Refund NUMBER on order NUMBER ."),
        ("Set the email of Anna King to anna@mail.example.", "Set the email of NAME to EMAIL ."),
        ('Add the note "call back at 5" to C318.', "Add the note QUOTED to NUMBER ."),
        ("Please ask Anna about https://x.example/a?b=1 now", "Please ask NAME about LINK now"),
        ("Release billing. Then stop.", "Release billing. Then stop."),
    ],
)
def test_entities_are_masked_by_their_kind(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_the_kind_of_task_decides_and_not_its_entities() -> None:
    examples = _set("Refund 20.00 on order 1042.", "Cancel order 2001.", "Open a ticket for Anna King: parcel is late.")
    assert _found("Cancel order 1042.", examples) == ["Cancel order 2001."]
    assert _found("Refund 9.99 on order 2001.", examples) == ["Refund 20.00 on order 1042."]
    assert _found("Open a ticket for Ben Cole: cancel everything.", examples) == [
        "Open a ticket for Anna King: parcel is late."
    ]


def test_the_nearest_stands_last_next_to_the_task() -> None:
    examples = _set("Cancel order 1.", "Please cancel order 2 now.", "Roll back search.", shown=2)
    assert _found("Please cancel order 3 now.", examples) == ["Cancel order 1.", "Please cancel order 2 now."]


def test_of_two_equally_near_the_earlier_is_shown() -> None:
    assert _found("Cancel order 9.", _set("Cancel order 1.", "Cancel order 2.")) == ["Cancel order 1."]


def test_a_task_like_none_still_gets_one_and_an_empty_set_gives_none() -> None:
    assert _found("xyz", _set("Cancel order 1.", "Roll back search.")) == ["Cancel order 1."]
    assert nearest("xyz", ExampleSet(episodes=())) == ()
    assert nearest("xyz", _set("Cancel order 1.", shown=0)) == ()


def test_no_more_are_shown_than_there_are() -> None:
    assert len(nearest("Cancel order 3.", _set("Cancel order 1.", shown=8))) == 1


def test_vectors_rank_as_words_do_the_nearest_last_and_the_earlier_of_equals_first() -> None:
    examples = _set("a", "b", "c", "d", shown=3)
    vectors = [(0.0, 1.0), (0.6, 0.8), (1.0, 0.0), (0.6, 0.8)]
    found = [episode[0].content for episode in nearest_by_vectors((1.0, 0.0), vectors, examples)]
    assert found == ["d", "b", "c"]
    assert nearest_by_vectors((1.0,), [], ExampleSet(episodes=())) == ()
