"""The language of choices: what each condition means, and how a wrong one is told."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.episodes import Cause, EpisodeMode, EpisodeResult, EpisodeStatus
from practicum.contracts.models import Usage
from practicum.datasets import parse_where
from practicum.errors import RequestError
from tests.sdk.datasets.conftest import Solved
from tests.sdk.trajectories.conftest import ANSWER, CALL, FIRST, SECOND, model_call


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", True),
        ("  ", True),
        ("suite=orders split=train reward>=1", True),
        ("suite = orders   reward >= 1", True),
        ("suite=other", False),
        ("suite!=other", True),
        ("split=held_out", False),
        ("split!=held_out", True),
        ("family=cancel,refund", True),
        ("family!=cancel,refund", False),
        ("task=t1", True),
        ("evaluation=e1", True),
        ("metadata.owner=ada", True),
        ('metadata.note="two words, and a comma"', True),
        ("metadata.note='two words'", False),
        ("metadata.nothing=x", False),
        ("metadata.nothing!=x", True),
        ("model=local", True),
        ("version=smol@1", True),
        ("version=smol@2", False),
        ("template=tttt", True),
        ("template=abcd,tt", True),
        ("template=x", False),
        ("status=completed cause=policy mode=live", True),
        ("status=completed,exhausted", True),
        ("status!=completed", False),
        ("use=sft", True),
        ("use=rl,preference", True),
        ("use!=sft", False),
        ("reward=1", True),
        ("reward!=1", False),
        ("reward>0.5", True),
        ("reward<1", False),
        ("reward=0,1", True),
        ("reward!=0,1", False),
        ("reward>-1.5", True),
        ("steps<=2 steps>1", True),
        ("tokens=12", True),
        ("tokens>12", False),
    ],
)
def test_what_a_condition_means(text: str, chosen: bool, solved: Solved) -> None:
    trajectory = solved(1)
    labels = {**trajectory.metadata, "owner": "ada", "note": "two words, and a comma"}
    result = EpisodeResult(
        status=EpisodeStatus.COMPLETED,
        cause=Cause.POLICY,
        steps=2,
        usage=Usage(prompt_tokens=10, completion_tokens=2),
    )
    unmet = parse_where(text).unmet(trajectory.model_copy(update={"metadata": labels, "result": result}))
    assert (unmet == ()) is chosen


@pytest.mark.parametrize(
    "text", ["reward>=0", "reward<1", "reward!=1", "reward=0", "steps>0", "tokens>=0", "cause=policy"]
)
def test_what_is_not_there_meets_no_condition(text: str, solved: Solved) -> None:
    nothing = solved(1, None, result=None)
    assert parse_where(text).unmet(nothing) == (text,)
    assert parse_where("status=running").unmet(nothing) == ()


def test_every_turn_must_be_of_the_version(solved: Solved) -> None:
    two = solved(1, model_calls=(model_call(0, FIRST, CALL), model_call(1, SECOND, ANSWER, version="smol@2")))
    assert parse_where("version=smol@1").unmet(two)
    assert not parse_where("version=smol@1,smol@2").unmet(two)
    assert parse_where("version=smol@1").unmet(solved(1, model_calls=()))


def test_what_is_unmet_is_told_as_it_was_written(solved: Solved) -> None:
    where = parse_where('suite=other reward >= 2 metadata.x="a b" family=refund')
    assert where.unmet(solved(1)) == ("suite=other", "reward>=2", 'metadata.x="a b"')
    assert where.text == 'suite=other reward >= 2 metadata.x="a b" family=refund'


def test_labels_that_a_gateway_can_look_up() -> None:
    where = parse_where("suite=orders split!=train family=a,b model=local metadata.owner=ada reward>=1")
    assert where.labels == {"suite": "orders", "owner": "ada"}


@pytest.mark.parametrize(
    ("text", "asks"),
    [("split=held_out", True), ("split=train,held_out", True), ("split!=held_out", False), ("split=train", False)],
)
def test_asking_for_the_held_out_split(text: str, asks: bool) -> None:
    assert parse_where(text).asks_for_held_out is asks


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("suite=orders colour=red", "column 14, at 'colour=red': there is no field 'colour'"),
        ("reward", "column 7, at the end: an operator should follow 'reward'"),
        ("suite orders", "column 6, at 'orders': an operator should follow 'suite'"),
        ("suite=", "column 7, at the end: a value should follow 'suite='"),
        ("suite= reward>=1 x", "column 18, at 'x': there is no field 'x'"),
        ("family=a,,b", "column 8, at 'a,,b': a value should follow 'family='"),
        ("family='a", "column 8, at ''a': a value should follow 'family='"),
        ("family='a'b", "column 8, at ''a'b': a value should follow 'family='"),
        ("suite>=orders", "column 6, at '>=orders': 'suite' is no number"),
        ("reward>=much", "column 9, at 'much': 'reward' is a number"),
        ("reward=1,nan", "column 8, at '1,nan': 'reward' is a number"),
        ("split=test", "column 7, at 'test': 'split' is never 'test'"),
        ("status=done", "column 8, at 'done': 'status' is never 'done'"),
        ("use=everything", "'use' is never 'everything'"),
        ("metadata.=x", "there is no field 'metadata.'"),
        ("reward=>1", "column 8, at '>1': 'reward' is a number"),
        ("and", "there is no field 'and'"),
        ("=1", "column 1, at '=1': a field should stand here"),
        ("suite=a) or", "column 10, at 'or': there is no field 'or'"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_where(text)
    assert told in caught.value.detail
    assert caught.value.mend
    assert caught.value.errors[0].where.startswith("column ")


_VALUE = st.text(st.characters(exclude_characters="'\"", exclude_categories=["Cs"]), min_size=1, max_size=8)
_CONDITION = st.tuples(
    st.sampled_from(["suite", "metadata.a-b.c", "version"]), st.sampled_from(["=", "!="]), st.lists(_VALUE, min_size=1)
)


@given(st.lists(_CONDITION), st.sampled_from(["'", '"']))
def test_any_value_can_be_written(conditions: list[tuple[str, str, list[str]]], quote: str) -> None:
    written = (
        f"{field}{operator}{','.join(f'{quote}{value}{quote}' for value in values)}"
        for field, operator, values in conditions
    )
    read = parse_where("\n ".join(written)).conditions
    assert [(each.field, each.operator, list(each.values)) for each in read] == conditions


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(RequestError):
        assert len(parse_where(text).conditions) <= len(text)


def test_a_mode_and_a_cause(solved: Solved) -> None:
    failed = EpisodeResult(status=EpisodeStatus.FAILED, cause=Cause.SYSTEM)
    changes: dict[str, Any] = {"mode": EpisodeMode.TRAINING, "result": failed}
    assert not parse_where("mode=training cause=system,infrastructure status=failed").unmet(solved(1, **changes))
