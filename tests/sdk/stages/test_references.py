"""Reference solutions as trajectories, and as rows of tokens."""

from pathlib import Path

import pytest

from practicum.codecs.chatml import ChatMLCompact
from practicum.contracts.tasks import Split, Task
from practicum.contracts.trajectory import Trajectory, Use
from practicum.datasets import Dataset, Format, build
from practicum.errors import ConfigurationError
from practicum.stages.references import examples_of, solve, spelled
from practicum.trajectories import token_rows
from practicum.trajectories.tokens import IGNORED
from tests.sdk.stages.clerk import Letters
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM, TOOLS
from tests.sdk.suites import NUMBERS

TASKS = LAMPS_SUITE.tasks(Split.TRAIN)[:4]


async def solved(*tasks: Task, system: str | None = SYSTEM) -> list[Trajectory]:
    return [trajectory async for trajectory in solve(LAMPS_SUITE, tasks or TASKS, system)]


async def test_a_solution_is_performed_and_judged() -> None:
    found = await solved()
    assert [trajectory.metadata["task"] for trajectory in found] == [task.id for task in TASKS]
    assert all(trajectory.reward == 1 for trajectory in found)
    first = found[0]
    assert [message.role for message in first.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert first.messages[3].content == first.invocations[0].observation.content
    assert first.result is not None
    assert (first.result.answer, first.result.steps) == (TASKS[0].conclusion, 2)
    assert first.metadata == {"suite": "lamps", "task": TASKS[0].id, "split": "train", "family": TASKS[0].family}


async def test_a_solution_that_its_verifier_refuses_is_told_as_it_is(tmp_path: Path) -> None:
    wrong = TASKS[0].model_copy(update={"reference": TASKS[1].reference})
    refused, accepted = await solved(wrong, TASKS[1])
    assert (refused.reward, accepted.reward) == (0, 1)
    assert len(examples_of([refused, accepted], 1).episodes) == 1
    letters = Letters()
    rows = [spelled(each, TOOLS, letters.codec, letters.tokenise) for each in (refused, accepted)]
    manifest = build("lamps", rows, tmp_path / "rows", format=Format.SFT, where="suite=lamps split=train reward>=1")
    assert manifest.files[0].episodes == (accepted.episode,)


async def test_a_task_without_a_solution_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no reference solution"):
        _ = [trajectory async for trajectory in solve(NUMBERS, NUMBERS.tasks(Split.TRAIN), None)]


async def test_the_rows_are_what_a_model_would_have_drawn(tmp_path: Path) -> None:
    letters, codec = Letters(), ChatMLCompact()
    records = [spelled(trajectory, TOOLS, codec, letters.tokenise) for trajectory in await solved()]
    for record in records:
        (row,) = token_rows(record)
        # The whole row is the whole conversation as it is rendered; what has a loss is what the reference says.
        last = record.model_calls[-1]
        assert last.response is not None
        whole = (*codec.render(last.messages, TOOLS), *codec.turn(last.response))
        assert row.input_ids == letters.tokenise(whole)
        said = [
            token
            for call in record.model_calls
            if call.response
            for token in letters.tokenise(codec.turn(call.response))
        ]
        assert [label for label in row.labels if label != IGNORED] == said
        assert set(row.logprobs) == {0.0}
        eligible = {each.use: each.eligible for each in record.uses}
        assert (eligible[Use.SFT], eligible[Use.RL]) == (True, False)
    build("lamps", records, tmp_path / "rows", format=Format.SFT, where="suite=lamps split=train reward>=1")
    assert len(list(Dataset(tmp_path / "rows").token_rows())) == len(TASKS)


async def test_what_the_model_says_is_read_back_as_the_reference_said_it() -> None:
    letters, codec = Letters(), ChatMLCompact()
    for trajectory in await solved():
        for call in trajectory.model_calls:
            assert call.response is not None
            read = codec.parse(letters.text(letters.tokenise(codec.turn(call.response))), (), 0).message
            assert (read.content, [(one.name, one.arguments) for one in read.tool_calls]) == (
                call.response.content,
                [(one.name, one.arguments) for one in call.response.tool_calls],
            )


async def test_other_tools_than_those_of_the_record_are_noticed() -> None:
    (trajectory,) = await solved(TASKS[0])
    other = TOOLS[0].model_copy(update={"description": "Changed since."})
    letters = Letters()
    for tools in ((other, *TOOLS[1:]), TOOLS[1:]):
        with pytest.raises(ConfigurationError, match="offer other tools"):
            spelled(trajectory, tools, letters.codec, letters.tokenise)


async def test_examples_begin_with_their_task() -> None:
    examples = examples_of(await solved(), 2)
    assert (len(examples.episodes), examples.shown) == (4, 2)
    assert [episode[0].content for episode in examples.episodes] == [task.prompt for task in TASKS]
    assert all(message.role != "system" for episode in examples.episodes for message in episode)
