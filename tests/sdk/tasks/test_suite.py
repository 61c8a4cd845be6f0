import pytest

from practicum.contracts.episodes import Cause, EpisodeResult, EpisodeStatus
from practicum.contracts.tasks import Split, States
from practicum.errors import ConfigurationError
from practicum.tasks import Practice, Suite, load_suite, score
from tests.sdk.suites import NUMBERS, Numbers

TASK = NUMBERS.tasks(Split.TRAIN)[0]
RIGHT: States = {"book": {"lines": {"1": {"number": 1}}}}


async def test_a_suite_is_found_by_its_dotted_path() -> None:
    suite = load_suite("tests.sdk.suites:NUMBERS")
    assert suite is NUMBERS
    assert isinstance(suite, Suite)
    async with suite.practice() as practice:
        assert isinstance(practice, Practice)
        await practice.load(TASK.start)
        await practice.call("book_write", {"number": 1}, "0/0")
        assert await practice.state() == RIGHT


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("orders", "names no suite"),
        ("tests.sdk.suites:", "names no suite"),
        ("tests.sdk.suites:a.b", "names no suite"),
        (":NUMBERS", "names no suite"),
        ("tests.sdk.nothing_here:NUMBERS", "cannot be loaded: No module named"),
        ("tests.sdk.suites:NOTHING", "has no NOTHING"),
        ("tests.sdk.suites:WRITE", "is no suite"),
        ("tests.sdk.suites:Numbers", "is no suite"),
    ],
)
def test_what_is_no_suite_is_told(path: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        load_suite(path)
    assert caught.value.mend


def ended(cause: Cause, status: EpisodeStatus = EpisodeStatus.COMPLETED) -> EpisodeResult:
    return EpisodeResult(status=status, cause=cause, answer="Done.", reason="because")


def test_what_the_policy_did_is_judged_by_what_it_left() -> None:
    assert score(NUMBERS, TASK, ended(Cause.POLICY), RIGHT).reward == 1
    assert score(NUMBERS, TASK, ended(Cause.POLICY), TASK.start).reward == 0
    assert score(NUMBERS, TASK, ended(Cause.BUDGET, EpisodeStatus.EXHAUSTED), TASK.start).reward == 0
    assert score(NUMBERS, TASK, ended(Cause.POLICY), None).reward is None


@pytest.mark.parametrize("cause", [Cause.SYSTEM, Cause.INFRASTRUCTURE, Cause.PERSON])
def test_what_the_policy_could_not_have_caused_earns_nothing_not_zero(cause: Cause) -> None:
    for left in (RIGHT, TASK.start, None):
        verdict = score(NUMBERS, TASK, ended(cause, EpisodeStatus.FAILED), left)
        assert verdict.reward is None
        assert verdict.differences == (f"ended by {cause}, not by the policy: because",)


def test_a_digest_follows_the_tasks() -> None:
    assert NUMBERS.digest == Numbers().digest != Numbers(7).digest
