"""`practicum models split --show`: how the sides do, for a person."""

from practicum.contracts.outcomes import VersionOutcomes
from practicum.contracts.promotion import Change, Promotion
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import NOW, StandIn


def test_it_shows_the_sides_with_their_intervals(gateway: StandIn, practicum: Types) -> None:
    split = {"v6": 90, "v7": 10}
    done = Promotion(id=2, alias="support", change=Change.SPLIT, to_version="v6", split=split, by="ada", at=NOW)
    gateway.on("GET", "/v1/models/support/promotions", [done])
    outcomes = [
        VersionOutcomes(version="v5", running=1),
        VersionOutcomes(version="v6", scored=80, successes=48, rewards=50.0, least=0.0, most=1.0, unscored=3),
        VersionOutcomes(version="v7", scored=70, successes=56, rewards=99.0, least=0.0, most=2.0),
    ]
    gateway.on("GET", "/v1/models/support/outcomes", outcomes)
    shown = practicum("models", "split", "support", "--show")
    assert shown.status == 0
    assert "60.0% (49.0% to 70.0%, n=80)" in shown.out
    assert "beyond 0 to 1" in shown.out
    assert "nothing scored" in shown.out
    assert "v7 against v6: +20.0 points (+5.2 to +33.4, n=150), it does better." in shown.out
    assert gateway.seen[-1].query == [("since", NOW.isoformat())]
    told = practicum("models", "split", "support", "--show", "--json").json
    assert [side["version"] for side in told["sides"]] == ["v6", "v7", "v5"]
    assert told["gaps"][0]["n"] == 150


def test_weights_or_show(gateway: StandIn, practicum: Types) -> None:
    assert practicum("models", "split", "support").status == 2
    assert practicum("models", "split", "support", "v6=1", "v7=1", "--show").status == 2
    assert gateway.seen == []
