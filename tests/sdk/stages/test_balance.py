from collections import Counter

import pytest

from practicum.contracts.tasks import Split
from practicum.errors import ConfigurationError
from practicum.stages.balance import Balance
from tests.sdk.stages.house import LAMPS_SUITE, WISHES

TASKS = LAMPS_SUITE.tasks(Split.TRAIN)


def test_open_families_come_often_and_none_never() -> None:
    balance = Balance(TASKS, floor=0.2, seed=1)
    assert balance.shares == dict.fromkeys(WISHES, 0.25)
    for _ in range(20):
        balance.learn({"light": [1.0] * 8, "check": [0.0] * 8, "darken": [1.0, 0.0] * 4, "soften": [1.0, 0.0] * 4})
    shares = balance.shares
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["light"] == pytest.approx(0.05, abs=0.01)  # a fourth of the floor, and next to nothing else
    assert shares["check"] == pytest.approx(0.05, abs=0.01)
    assert shares["darken"] == shares["soften"] == pytest.approx(0.45, abs=0.01)


def test_without_a_floor_what_is_solved_is_left_alone() -> None:
    balance = Balance(TASKS, floor=0.0, seed=1)
    for _ in range(200):
        balance.learn({family: [1.0 if family != "check" else 0.5] for family in WISHES})
    drawn = [task.family for step in range(20) for task in balance.draw(step, 4)]
    assert set(drawn) == {"check"}


def test_when_everything_is_solved_all_families_come_alike() -> None:
    balance = Balance(TASKS, floor=0.0, seed=1)
    for _ in range(2000):
        balance.learn({family: [1.0] for family in WISHES})
    assert set(balance.shares.values()) == {0.25}


def test_every_task_of_a_family_comes_before_any_comes_again() -> None:
    balance = Balance(TASKS, floor=1.0, seed=3)
    drawn = [task for step in range(40) for task in balance.draw(step, 8)]
    for family in WISHES:
        mine = [task.id for task in drawn if task.family == family]
        kinds = len({task.id for task in TASKS if task.family == family})
        assert len(set(mine[:kinds])) == kinds
        assert max(Counter(mine).values()) - min(Counter(mine).values()) <= 1


def test_a_run_that_goes_on_draws_what_it_would_have_drawn() -> None:
    whole = Balance(TASKS, floor=0.2, seed=7)
    first = whole.draw(0, 4)
    whole.learn({first[0].family: [1.0, 1.0]})
    resumed = Balance(
        TASKS, floor=0.2, seed=7, state=type(whole.state).model_validate_json(whole.state.model_dump_json())
    )
    assert resumed.draw(1, 6) == whole.draw(1, 6)
    assert resumed.shares == whole.shares


def test_nothing_to_practise_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no tasks to practise"):
        Balance([], floor=0.1, seed=1)
