"""Reinforcement learning: what TRL makes of attempts that were made elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from practicum.contracts.tasks import Split, States
from practicum.errors import ConfigurationError, UpstreamError
from practicum.stages._trl import grpo as trainer
from practicum.stages._trl import libraries
from practicum.stages._trl.checkpoints import course_of
from practicum.stages._trl.models import Loaded
from practicum.stages.bases import find_base
from practicum.stages.bundle import Kind, read_bundle, write_bundle
from practicum.stages.groups import Batch, Scored, batch_of
from practicum.stages.grpo import train_grpo
from practicum.stages.lockstep import play
from practicum.stages.policies import load_bundle
from practicum.stages.practices import Practices
from practicum.stages.progress import Progress
from practicum.stages.runs import run_in
from practicum.stages.settings import Lora, Precision, Replay
from practicum.stages.sft import train_sft
from practicum.trajectories import TokenRow
from tests.sdk.stages import school as schools
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM, House, Lamps
from tests.sdk.stages.school import LIMITS, School, grpo, load, policy

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> School:
    """Somebody who was shown how: as a whole model, and as an adapter over it."""
    folder = tmp_path_factory.mktemp("school")
    taught = schools.school(folder, 1)
    train_sft(taught.dataset, taught.base, folder / "whole", schools.sft())
    shown = find_base(str(folder / "whole" / "weights"), folder)
    adapter = schools.sft(epochs=1, rate=1e-3, lora=Lora(rank=8, alpha=16))
    train_sft(taught.dataset, shown, folder / "adapter", adapter)
    return taught


def attempts(loaded: Loaded, *, seed: int) -> Batch:
    """Two groups of four."""
    tasks = [task for task in LAMPS_SUITE.tasks(Split.TRAIN)[:2] for _ in range(4)]
    with Practices(LAMPS_SUITE, 8) as practices:
        sampler = policy(loaded, temperature=1.0, seed=seed)
        played = play(LAMPS_SUITE, tasks, sampler, practices, limits=LIMITS, system=SYSTEM)
    return batch_of(played, 4)


def with_advantages(batch: Batch, worth: Sequence[float | None]) -> Batch:
    """The attempts with advantages of the test's own; None takes one out."""
    rows = tuple(
        Scored(
            ids=row.ids,
            trained=tuple(drawn and value is not None for drawn in marks(row)),
            logprobs=row.logprobs,
            advantage=value or 0.0,
        )
        for row, value in zip(batch.rows, worth, strict=True)
    )
    return Batch(rows=rows, figures={}, outcomes={})


def marks(row: Scored) -> list[bool]:
    """Which tokens the policy drew, whatever became of the attempt."""
    return [logprob != 0.0 for logprob in row.logprobs]


def by_hand(loaded: Loaded, batch: Batch) -> tuple[float, float]:
    """Loss and length of the gradient as the formula has them, row by row, without anything shared or padded."""
    torch = libraries.torch()
    total = sum(sum(row.trained) for row in batch.rows)
    loss: Any = 0.0
    loaded.model.zero_grad()
    for row in batch.rows:
        logits = loaded.model(input_ids=torch.tensor([row.ids])).logits[0].float()
        logprobs = torch.log_softmax(logits[:-1], -1)[range(len(row.ids) - 1), list(row.ids[1:])]
        counted = torch.tensor(row.trained[1:])
        ratio = (logprobs - logprobs.detach()).exp()
        loss = loss - (ratio * row.advantage)[counted].sum() / total
    loss.backward()
    square = sum(float((p.grad**2).sum()) for p in loaded.model.parameters() if p.grad is not None)
    loaded.model.zero_grad()
    return float(loss.detach()), square**0.5


@pytest.mark.parametrize("at_once", [8, 2])
def test_trls_loss_is_the_formula_on_exactly_the_drawn_tokens(taught: School, tmp_path: Path, at_once: int) -> None:
    loaded = load(taught.base.model_copy(update={"path": str(taught.folder / "whole" / "weights")}))
    batch = with_advantages(attempts(loaded, seed=3), [1.0, None, -0.5, 0.3, None, None, 2.0, -1.0])
    loss, length = by_hand(loaded, batch)
    told: list[Progress] = []
    settings = grpo(groups=2, group_size=4, steps=1, rows_at_once=at_once, rate=1e-5)
    with run_in(tmp_path / "run", {}) as run:
        course = course_of("grpo", run, settings, told.append, None)
        feed = trainer.Feed(attempts=lambda _: batch, replay=lambda _: ())
        assert trainer.train(loaded, feed, settings, course, None) == 1
    (one,) = told
    assert one.figures["loss"] == pytest.approx(loss, abs=1e-5)
    assert one.figures["grad_norm"] == pytest.approx(length, rel=1e-3)
    assert one.figures["trained_tokens"] == batch.trained
    assert one.figures["logprob_distance"] < 1e-4


def test_a_step_without_signal_moves_nothing(taught: School, tmp_path: Path) -> None:
    torch = libraries.torch()
    loaded = load(taught.base)
    before = [parameter.detach().clone() for parameter in loaded.model.parameters()]
    batch = with_advantages(attempts(loaded, seed=3), [None] * 8)
    settings = grpo(groups=2, group_size=4, steps=1, beta=0.0)
    with run_in(tmp_path / "run", {}) as run:
        told: list[Progress] = []
        course = course_of("grpo", run, settings, told.append, None)
        trainer.train(loaded, trainer.Feed(lambda _: batch, lambda _: ()), settings, course, None)
    assert told[0].figures["grad_norm"] == 0.0
    for mine, old in zip(loaded.model.parameters(), before, strict=True):
        assert torch.equal(mine, old)


def kl_by_hand(start: Loaded, now: Loaded, batch: Batch) -> float:
    """The mean over drawn tokens of exp(d) - d - 1, where d is how much likelier the start found them."""
    torch = libraries.torch()
    found: list[float] = []
    for row in batch.rows:
        with torch.no_grad():
            start_and_now = [
                torch.log_softmax(one.model(input_ids=torch.tensor([row.ids])).logits[0].float()[:-1], -1)
                for one in (start, now)
            ]
        before, after = (each[range(len(row.ids) - 1), list(row.ids[1:])] for each in start_and_now)
        distance = (before - after)[torch.tensor(row.trained[1:])]
        found += (distance.exp() - distance - 1).tolist()
    return sum(found) / len(found)


@pytest.mark.parametrize("kind", ["whole", "adapter"])
def test_the_distance_is_measured_from_where_the_stage_began(taught: School, tmp_path: Path, kind: str) -> None:
    manifest = read_bundle(taught.folder / kind)
    start, now = (load_bundle(taught.folder / kind, manifest, tmp_path, Precision.FLOAT32) for _ in range(2))
    batch = with_advantages(attempts(now, seed=3), [1.0, -1.0, 0.5, None, 1.0, -0.5, -1.0, 0.5])
    told: list[Progress] = []
    expected: list[float] = []

    def feed(_: int) -> Batch:
        expected.append(kl_by_hand(start, now, batch))
        return batch

    # All rows at once, since TRL's figure is the mean over passes, whatever they hold; the loss is not.
    settings = grpo(groups=2, group_size=4, steps=3, rows_at_once=8, rate=3e-3, beta=0.5)
    with run_in(tmp_path / "run", {}) as run:
        course = course_of("grpo", run, settings, told.append, None)
        trainer.train(now, trainer.Feed(feed, lambda _: ()), settings, course, None)
    measured = [one.figures["kl"] for one in told]
    assert measured == pytest.approx(expected, rel=1e-2, abs=1e-6)
    assert expected[0] == pytest.approx(0.0, abs=1e-6)
    assert expected[2] > 1e-3
    worth = sum(row.advantage * sum(row.trained) for row in batch.rows) / batch.trained
    assert told[2].figures["loss"] == pytest.approx(-worth + 0.5 * expected[2], rel=1e-2)


def test_an_adapter_goes_on_and_the_copy_it_is_measured_from_stays_behind(taught: School, tmp_path: Path) -> None:
    start = read_bundle(taught.folder / "adapter")
    bundle = train_grpo(
        LAMPS_SUITE,
        taught.folder / "adapter",
        tmp_path / "out",
        grpo(groups=4, group_size=4, rows_at_once=16, steps=2, beta=0.1),
        cache=tmp_path,
    )
    assert bundle.kind is Kind.ADAPTER
    assert bundle.files.keys() == start.files.keys()
    assert bundle.files != start.files
    assert bundle.base == start.base
    assert bundle.parent == start.digest
    assert bundle.system == SYSTEM


def test_in_short_numbers_it_is_still_the_same_policy(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = grpo(groups=4, group_size=4, rows_at_once=8, steps=2, precision="bfloat16", rate=1e-2)
    bundle = train_grpo(
        LAMPS_SUITE, taught.folder / "adapter", tmp_path / "out", settings, cache=tmp_path, listener=told.append
    )
    assert bundle.files != read_bundle(taught.folder / "adapter").files
    assert 0 < max(one.figures["logprob_distance"] for one in told) < 0.1


def test_rows_are_replayed_beside_the_practice(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = grpo(
        groups=2, group_size=4, rows_at_once=4, steps=3, replay=Replay(dataset=str(taught.dataset), rows=6, weight=2.0)
    )
    bundle = train_grpo(
        LAMPS_SUITE, taught.folder / "whole", tmp_path / "out", settings, cache=tmp_path, listener=told.append
    )
    assert [one.figures["replay_loss"] > 0 for one in told] == [True] * 3
    assert [source.kind for source in bundle.sources] == ["suite", "dataset"]


def test_replay_pulls_with_its_weight(taught: School, tmp_path: Path) -> None:
    """With no signal in the attempts, what moves is the replay alone, by its own gradient."""
    loaded = load(taught.base)
    batch = with_advantages(attempts(loaded, seed=3), [None] * 8)
    rows: list[TokenRow] = list(schools.rows(taught)[:4])
    lengths: list[float] = []
    for weight in (0.5, 1.0):
        told: list[Progress] = []
        settings = grpo(groups=2, group_size=4, rows_at_once=4, steps=1, replay=Replay(dataset="unused", weight=weight))
        with run_in(tmp_path / str(weight), {}) as run:
            course = course_of("grpo", run, settings, told.append, None)
            fresh = load(taught.base)
            trainer.train(fresh, trainer.Feed(lambda _: batch, lambda _: rows), settings, course, None)
        lengths.append(told[0].figures["grad_norm"])
    assert lengths[1] == pytest.approx(2 * lengths[0], rel=1e-3)


class Fragile(House):
    """Every third house falls apart as soon as it is entered."""

    made = 0
    every = 3

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
        self._falls = type(self).made % type(self).every == 0

    async def state(self) -> States:
        if self._falls:
            raise ConnectionError("it fell apart")
        return await super().state()


class Ruin(Fragile):
    """All houses fall apart."""

    every = 1


def test_training_goes_on_while_some_systems_fail(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = grpo(groups=2, group_size=4, rows_at_once=8, steps=4)
    train_grpo(
        Lamps(house=Fragile), taught.folder / "whole", tmp_path / "out", settings, cache=tmp_path, listener=told.append
    )
    assert told[0].figures["lost"] == 2
    assert sum(one.figures["trained_tokens"] for one in told) > 0


def test_when_all_systems_fail_it_says_so_and_can_be_gone_on_with(taught: School, tmp_path: Path) -> None:
    settings = grpo(groups=2, group_size=4, rows_at_once=8, steps=2)
    with pytest.raises(
        UpstreamError, match="No attempt of step 1 could be judged: the systems' states could not be read"
    ):
        train_grpo(Lamps(house=Ruin), taught.folder / "whole", tmp_path / "out", settings, cache=tmp_path)
    bundle = train_grpo(LAMPS_SUITE, taught.folder / "whole", tmp_path / "out", settings, cache=tmp_path)
    assert bundle.steps == 2


def test_families_can_be_chosen_and_must_be_there(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = grpo(groups=2, group_size=4, rows_at_once=8, steps=2, families=["check"])
    train_grpo(LAMPS_SUITE, taught.folder / "whole", tmp_path / "a", settings, cache=tmp_path, listener=told.append)
    assert {name for one in told for name in one.figures if name.startswith("success/")} == {"success/check"}
    with pytest.raises(ConfigurationError, match="has no family wash"):
        train_grpo(LAMPS_SUITE, taught.folder / "whole", tmp_path / "b", grpo(families=["wash"]), cache=tmp_path)


def test_a_bundle_of_another_template_is_refused(taught: School, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "weights").symlink_to(taught.folder / "whole" / "weights")
    write_bundle(other, read_bundle(taught.folder / "whole").model_copy(update={"template_hash": "0" * 64}))
    with pytest.raises(ConfigurationError, match="another template"):
        train_grpo(LAMPS_SUITE, other, tmp_path / "out", grpo(steps=1), cache=tmp_path)
