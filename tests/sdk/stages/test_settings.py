import pytest

from practicum.errors import ConfigurationError
from practicum.stages.settings import GrpoSettings, Lora, Replay, SftSettings, settings_of


def test_assignments_reach_every_level() -> None:
    settings = settings_of(SftSettings, ["rate=0.001", "lora.rank=4", "system=Be kind.", "seconds=60"])
    assert (settings.rate, settings.lora, settings.system, settings.seconds) == (0.001, Lora(rank=4), "Be kind.", 60)
    assert settings_of(SftSettings, ["lora=null"]).lora is None
    grpo = settings_of(GrpoSettings, ["limits.errors_in_a_row=1", 'families=["a","b"]', "replay.dataset=rows"])
    assert grpo.limits.errors_in_a_row == 1
    assert grpo.families == ("a", "b")
    assert grpo.replay == Replay(dataset="rows")


@pytest.mark.parametrize(
    ("assignment", "what"),
    [
        ("speed=1", "speed: Extra inputs"),
        ("lora.size=1", "lora.size: Extra inputs"),
        ("rate=-1", "rate: Input should be greater than 0"),
        ("rate=fast", "rate: Input should be a valid number"),
        ("rate", "sets nothing"),
        ("rows_at_once=3", "must be a multiple"),
    ],
)
def test_what_is_unknown_or_does_not_fit_is_refused(assignment: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=what) as raised:
        settings_of(SftSettings, [assignment])
    assert raised.value.mend


def test_a_setting_cannot_be_a_value_and_a_group() -> None:
    with pytest.raises(ConfigurationError, match="set twice"):
        settings_of(SftSettings, ["lora=null", "lora.rank=4"])


def test_a_limit_that_cannot_be_held_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be held"):
        settings_of(GrpoSettings, ["limits.seconds=10"])
    with pytest.raises(ConfigurationError, match="greater than or equal to 2"):
        settings_of(GrpoSettings, ["group_size=1"])
