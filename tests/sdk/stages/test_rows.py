import json
from pathlib import Path

import pytest

from practicum.codecs.chatml import ChatMLCompact
from practicum.contracts.episodes import Limits
from practicum.contracts.tasks import Split
from practicum.contracts.trajectory import Trajectory
from practicum.datasets import Format, build
from practicum.errors import ConfigurationError, RequestError
from practicum.stages.lockstep import play
from practicum.stages.practices import Practices
from practicum.stages.rows import check_rows, read_rows
from practicum.trajectories import TokenRow
from tests.sdk.stages.clerk import Letters, Scripted, clerk
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM

CODEC = ChatMLCompact()
GOOD = TokenRow(input_ids=(1, 2, 3), labels=(-100, 2, 3), logprobs=(0.0, -1.0, -1.0), episode="e", step=0)


def recorded(count: int = 4) -> list[Trajectory]:
    with Practices(LAMPS_SUITE, count) as practices:
        tasks = LAMPS_SUITE.tasks(Split.TRAIN)[:count]
        played = play(LAMPS_SUITE, tasks, Scripted(clerk({}, 0, 1)), practices, limits=Limits(steps=3), system=SYSTEM)
    return [one.trajectory for one in played]


def test_rows_come_as_they_were_recorded(tmp_path: Path) -> None:
    build("lamps", recorded(), tmp_path / "data", format=Format.SFT)
    rows = read_rows(tmp_path / "data", CODEC)
    assert len(rows.rows) == 4
    assert rows.trainable == sum(row.trainable for row in rows.rows) > 0
    letters = Letters()
    for row, record in zip(rows.rows, recorded(), strict=True):
        learned = letters.text([label for label in row.labels if label != -100])
        assert learned == "".join(
            letters.text(letters.tokenise(CODEC.turn(message)))
            for message in record.messages
            if message.role == "assistant"
        )


def test_rows_of_another_template_are_refused(tmp_path: Path) -> None:
    other = [
        record.model_copy(
            update={
                "model_calls": tuple(call.model_copy(update={"template_hash": "f" * 64}) for call in record.model_calls)
            }
        )
        for record in recorded()
    ]
    build("lamps", other, tmp_path / "data", format=Format.SFT)
    with pytest.raises(ConfigurationError, match="another template"):
        read_rows(tmp_path / "data", CODEC)


def test_what_was_changed_since_is_refused(tmp_path: Path) -> None:
    manifest = build("lamps", recorded(), tmp_path / "data", format=Format.SFT)
    path = tmp_path / "data" / manifest.files[0].name
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], json.dumps({**json.loads(lines[-1]), "reward": 9.0})]) + "\n")
    with pytest.raises(ConfigurationError, match="changed"):
        read_rows(tmp_path / "data", CODEC)


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        read_rows(tmp_path, CODEC)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"labels": (-100, -100, -100)}, "no token that the model drew"),
        ({"labels": (-100, 2)}, "3 tokens have 2 labels"),
        ({"labels": (1, 2, 3)}, "nothing before it"),
        ({"labels": (-100, 3, 2)}, "not the token at its place"),
        ({"labels": (-100, 2, -100)}, "teaches no end of turn"),
        ({"input_ids": (1, 2, 3, 4, 5, 3), "labels": (-100, 2, 3, -100, -100, -100)}, "do not fit into a context of 5"),
        ({"input_ids": (1, 2, 3, 9), "labels": (-100, 2, 3, -100)}, "a vocabulary of 8 does not have"),
    ],
)
def test_a_row_that_cannot_be_trained_on_is_refused(changes: dict[str, tuple[int, ...]], fault: str) -> None:
    check_rows([GOOD], vocabulary=8, context=5, stops={3})
    with pytest.raises(RequestError, match=f"1 of 2 rows cannot be trained on: episode e, step 0: .*{fault}"):
        check_rows([GOOD, GOOD.model_copy(update=changes)], vocabulary=8, context=5, stops={3})
