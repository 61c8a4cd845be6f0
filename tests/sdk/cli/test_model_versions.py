"""`practicum models versions`, `promote`, `rollback` and `promotions`."""

from pathlib import Path

import pytest

from practicum.contracts.checks import Capability, Finding, ModelCheck
from practicum.contracts.models import BundleFacts, ModelInfo, ModelVersion, Provider
from practicum.contracts.promotion import Change, Promotion
from practicum.evaluation import compare
from tests.sdk.cli.conftest import Types
from tests.sdk.evaluation.reports import report_of
from tests.sdk.stand_in import NOW, StandIn, problem

BEFORE = report_of([[0.0]] * 12 + [[1.0]] * 8, id="before", version="v1")
AFTER = report_of([[1.0]] * 20, id="after", version="v2", model="local@v2")
BUNDLE = BundleFacts(
    digest="d" * 64, stage="sft", codec="c", template_hash="t" * 64, base_hash="b" * 64, weights_hash="w" * 64
)
VERSIONS = [
    ModelVersion(
        alias="local",
        provider=Provider.LLAMA_CPP,
        target="smollm2",
        version=version,
        bundle=bundle,
        created=NOW,
        created_by="ada",
        current=current,
    )
    for version, bundle, current in (("v2", BUNDLE, False), ("v1", None, True))
]
PROMOTED = Promotion(
    id=2,
    alias="local",
    change=Change.PROMOTED,
    from_version="v1",
    to_version="v2",
    comparison=compare(BEFORE, AFTER),
    by="ada",
    at=NOW,
)
OVERRIDDEN = Promotion(
    id=3,
    alias="local",
    change=Change.PROMOTED,
    from_version="v1",
    to_version="v2",
    override="cheaper",
    by="ada",
    at=NOW,
)
BACK = Promotion(id=4, alias="local", change=Change.ROLLED_BACK, from_version="v2", to_version="v1", by="ada", at=NOW)


@pytest.fixture
def evaluations(tmp_path: Path) -> tuple[str, str]:
    """The folders of two evaluations."""
    for name, report in (("before", BEFORE), ("after", AFTER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(report.model_dump_json())
    return str(tmp_path / "after"), str(tmp_path / "before")


def test_versions_say_which_is_current_and_what_made_it(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/models/local/versions", VERSIONS)
    shown = practicum("models", "versions", "local")
    new, old = shown.out.splitlines()[1:]
    assert new.split()[:4] == ["v2", "smollm2", "sft", "d" * 12]
    assert old.split()[:3] == ["v1", "yes", "smollm2"]
    told = practicum("models", "versions", "local", "--json").json
    assert [each["current"] for each in told] == [False, True]


def test_a_promotion_sends_both_reports_whole_and_shows_the_comparison(
    gateway: StandIn, practicum: Types, evaluations: tuple[str, str]
) -> None:
    gateway.on("POST", "/v1/models/local/promote", PROMOTED)
    given = ("models", "promote", "local", "v2", "--evaluation", evaluations[0], "--against", evaluations[1])
    shown = practicum(*given)
    sent = gateway.seen[0].json
    assert (sent["version"], sent["override"]) == ("v2", None)
    assert sent["evaluation"] == AFTER.model_dump(mode="json")
    assert sent["against"] == BEFORE.model_dump(mode="json")
    assert "+60.0 points" in shown.out
    assert shown.out.splitlines()[-1] == "'local' names v2 now, and named v1 before."
    assert practicum(*given, "--json").json["comparison"]["n"] == 20


def test_a_refusal_shows_the_numbers_and_the_way_out(
    gateway: StandIn, practicum: Types, evaluations: tuple[str, str]
) -> None:
    refusal = problem(409, "conflict", "not shown to be better\ndifference  -5.0 points", mend="override with a reason")
    gateway.on("POST", "/v1/models/local/promote", refusal)
    given = ("models", "promote", "local", "v2", "--evaluation", evaluations[0], "--against", evaluations[1])
    shown = practicum(*given)
    assert shown.status != 0
    assert "-5.0 points" in shown.err
    assert "-> override with a reason" in shown.err
    assert practicum("models", "promote", "local", "v2", "--evaluation", "nowhere").status != 0
    assert len(gateway.seen) == 1, "what cannot be read is not sent"


def test_what_an_alias_names_from_its_beginning_it_named_never_before(gateway: StandIn, practicum: Types) -> None:
    first = PROMOTED.model_copy(update={"change": Change.REGISTERED, "from_version": None, "comparison": None})
    gateway.on("POST", "/v1/models/local/promote", first)
    assert practicum("models", "promote", "local", "v2").out == "'local' names v2 now.\n"


def test_an_override_and_the_way_back(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/models/local/promote", OVERRIDDEN)
    gateway.on("POST", "/v1/models/local/rollback", BACK)
    gateway.on("GET", "/v1/models/local/promotions", [BACK, OVERRIDDEN, PROMOTED])
    blank = practicum("models", "promote", "local", "v2", "--override", " ")
    assert (blank.status, "Say why" in blank.err, gateway.seen) == (2, True, [])
    shown = practicum("models", "promote", "local", "v2", "--override", "cheaper")
    assert gateway.seen[0].json["override"] == "cheaper"
    assert shown.out == "'local' names v2 now, and named v1 before.\n"
    assert practicum("models", "rollback", "local").out == "'local' names v1 now, and named v2 before.\n"
    lines = practicum("models", "promotions", "local").out.splitlines()
    assert "rolled_back" in lines[1]
    assert "override: cheaper" in lines[2]
    assert "+60.0 points" in lines[3]
    assert practicum("models", "rollback", "local", "--json").json["to_version"] == "v1"


def test_a_split_and_fallbacks_are_one_command_each(gateway: StandIn, practicum: Types) -> None:
    split = BACK.model_copy(update={"change": Change.SPLIT, "split": {"v1": 90, "v=2": 10}})
    info = ModelInfo(alias="local", provider=Provider.LLAMA_CPP, target="smollm2", version="v1")
    gateway.on("PUT", "/v1/models/local/split", split)
    gateway.on("PUT", "/v1/models/local/fallbacks", info.model_copy(update={"fallbacks": ("spare", "local@v2")}))
    shown = practicum("models", "split", "local", "v1=90", "v=2=10")
    assert gateway.seen[0].json == {"weights": {"v1": 90, "v=2": 10}}
    assert "'local' is split: v1 90.0%, v=2 10.0%" in shown.out
    shown = practicum("models", "fallbacks", "local", "spare", "local@v2")
    assert gateway.seen[1].json == {"fallbacks": ["spare", "local@v2"]}
    assert shown.out == "Where 'local' cannot answer, spare, then local@v2 is asked.\n"
    for wrong in (("split", "local", "v1"), ("split", "local", "v1=1", "v1=2"), ("fallbacks", "local")):
        assert practicum("models", *wrong).status == 2
    assert practicum("models", "split", "local", "v1=90").status != 0, "one version is no split"
    assert len(gateway.seen) == 2


def test_a_check_says_what_follows_and_fails_where_nobody_answers(gateway: StandIn, practicum: Types) -> None:
    lacking = Finding(capability=Capability.TOKEN_IDS, able=False, said="no token ids: not usable for rl")
    found = ModelCheck(version="v=1", at=NOW, healthy=True, findings=(lacking,))
    gateway.on("POST", "/v1/models/local/check", found)
    shown = practicum("models", "check", "local@v=1")
    assert gateway.seen[0].query == [("version", "v=1")]
    assert (shown.status, "no token ids: not usable for rl" in shown.out) == (0, True)
    gateway.on("POST", "/v1/models/local/check", found.model_copy(update={"healthy": False}))
    assert practicum("models", "check", "local").status == 1
    gateway.on("GET", "/v1/models/local/versions", [VERSIONS[1].model_copy(update={"check": found})])
    assert "no token_ids" in practicum("models", "versions", "local").out
