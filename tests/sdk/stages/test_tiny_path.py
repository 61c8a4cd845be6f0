"""From records to a better model: build, SFT, GRPO, evaluation, promotion; with a model of 0.3 million parameters."""

from pathlib import Path

import pytest

from practicum.codecs.codec import text_of
from practicum.contracts.evaluation import EvaluationReport
from practicum.contracts.messages import Message
from practicum.contracts.promotion import PromotionRequest
from practicum.errors import ConflictError
from practicum.evaluation import compare
from practicum.stages._trl.models import tokenise
from practicum.stages.bundle import Bundle, read_bundle
from practicum.stages.grpo import train_grpo
from practicum.stages.measure import measure
from practicum.stages.policies import open_policy
from practicum.stages.progress import Progress
from practicum.stages.rows import read_rows
from practicum.stages.sft import train_sft
from practicum.trajectories.tokens import IGNORED
from practicum_gateway.models.evidence import judge
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM, TOOLS
from tests.sdk.stages.school import LIMITS, grpo, load, policy, school, sft

pytestmark = pytest.mark.train


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_practice_mends_what_the_records_taught_wrongly(tmp_path: Path, seed: int) -> None:
    """The done-means of the learning line: at least 20 points on held-out tasks, whatever the seed."""
    taught = school(tmp_path, seed)
    shown = train_sft(taught.dataset, taught.base, tmp_path / "sft", sft(seed))
    told: list[Progress] = []
    practised = train_grpo(
        LAMPS_SUITE, tmp_path / "sft", tmp_path / "grpo", grpo(seed), cache=tmp_path, listener=told.append
    )

    untrained, before, after = (held_out(tmp_path, name, seed) for name in ("base", "sft", "grpo"))
    assert untrained.success.value == 0.0
    assert before.success.value is not None
    assert after.success.value is not None
    assert after.success.n == 20
    assert after.success.value - before.success.value >= 0.20
    assert compare(before, after).better
    promoted(before, after)

    assert lineage(shown) == ("sft", None, [("dataset", str(taught.dataset))])
    assert lineage(practised) == ("grpo", shown.digest, [("suite", "lamps")])
    assert practised.template_hash == shown.template_hash
    assert [one.step for one in told] == list(range(1, 17))
    for one in told:
        # The policy that sampled is the policy that is trained, token for token.
        assert one.figures["logprob_distance"] < 1e-3
        assert one.figures["lost"] == 0
        assert one.figures["trained_tokens"] > 0


def promoted(before: EvaluationReport, after: EvaluationReport) -> None:
    """By these reports the gateway lets the better one take the place of the other, and not the other way round."""
    forward = PromotionRequest(version=after.version, evaluation=after, against=before)
    assert judge(before.model, before.version, forward) == compare(before, after)
    backward = PromotionRequest(version=before.version, evaluation=before, against=after)
    with pytest.raises(ConflictError, match="is not shown to be better"):
        judge(after.model, after.version, backward)


def held_out(folder: Path, name: str, seed: int) -> EvaluationReport:
    """What a model does greedily with tasks that nobody showed it."""
    if name == "base":
        sampler = policy(load(read_bundle(folder / "sft").base), temperature=0.0)
    else:
        sampler = open_policy(folder / name, folder, turn_tokens=24, seed=seed, threads=1)
    return measure(LAMPS_SUITE, sampler, limits=LIMITS, system=SYSTEM)


def lineage(bundle: Bundle) -> tuple[str, str | None, list[tuple[str, str]]]:
    return bundle.stage, bundle.parent, [(source.kind, source.name) for source in bundle.sources]


def test_the_rows_decoded_are_the_recorded_conversations(tmp_path: Path) -> None:
    taught = school(tmp_path, 1, repeats=1)
    loaded = load(taught.base)
    rows = read_rows(taught.dataset, loaded.codec)
    assert len(rows.rows) == len(taught.played)
    following = text_of(loaded.codec.suffix(Message(role="assistant"), (), ended=loaded.codec.stops[0]))
    for row, one in zip(rows.rows, taught.played, strict=True):
        messages = one.trajectory.messages
        text: str = loaded.tokenizer.decode(list(row.input_ids), skip_special_tokens=False)
        assert text + following == text_of(loaded.codec.render(messages, TOOLS))
        said = [message for message in messages if message.role == "assistant"]
        learned = [label for label in row.labels if label != IGNORED]
        assert learned == [token for message in said for token in tokenise(loaded, loaded.codec.turn(message))]
