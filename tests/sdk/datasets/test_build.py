"""Datasets are whole or absent, exact to the token, and say what they hold and what they left out."""

import json
import resource
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.trajectory import Trajectory
from practicum.datasets import Dataset, Format, build
from practicum.errors import ConfigurationError, ConflictError, GatewayUnavailableError, RequestError
from practicum.trajectories import Form, Manifest, chat_row, messages_row, token_rows
from tests.sdk.datasets.conftest import Solved
from tests.sdk.trajectories.conftest import ANSWER, CALL, FIRST, RESULT, SECOND, SYSTEM, TASK, TOOL, model_call


def test_rows_for_sft_are_the_tokens_that_were_sampled(solved: Solved, tmp_path: Path) -> None:
    out = tmp_path / "datasets" / "refunds"
    episodes = [solved(1), solved(2, 0.0), solved(3)]
    manifest = build("refunds", episodes, out, format=Format.SFT, where="suite=orders split=train reward>=1")
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "manifest.json", "tokens.jsonl"]
    dataset = Dataset(out)
    assert dataset.manifest == manifest
    rows = list(dataset.token_rows())
    assert rows == [*token_rows(episodes[0]), *token_rows(episodes[2])]
    assert rows[0].input_ids == (*SECOND.prompt_ids, *SECOND.completion_ids)
    assert [token for token in rows[0].labels if token != -100] == [*FIRST.completion_ids, *SECOND.completion_ids]
    (file,) = manifest.files
    assert (file.rows, file.tokens, file.trainable_tokens, file.episodes) == (2, 16, 6, ("ep1", "ep3"))
    assert (manifest.name, manifest.seen, manifest.unmatched) == ("refunds", 3, {"reward>=1": 1})
    assert manifest.query == {
        "where": "suite=orders split=train reward>=1",
        "format": "sft",
        "held_out": False,
    }
    assert manifest.composition == {"suite": {"orders": 2}, "split": {"train": 2}, "family": {"refund": 2}}
    assert (manifest.templates, manifest.systems) == (("t" * 64,), (SYSTEM.content,))


def test_what_does_not_qualify_is_left_out_with_its_reason(solved: Solved, tmp_path: Path) -> None:
    bare = solved(2, model_calls=(model_call(0, None, CALL),))
    empty = FIRST.model_copy(update={"completion_ids": (), "logprobs": ()})
    untrainable = solved(4, model_calls=(model_call(0, empty, CALL),))
    held_out = solved(5, split="held_out")
    manifest = build("a", [solved(1), bare, solved(3, 0.0), untrainable, held_out], tmp_path / "a", format=Format.SFT)
    assert manifest.files[0].episodes == ("ep1",)
    assert {left.episode: left.reasons for left in manifest.excluded} == {
        "ep2": ("No token ids were recorded at step 0; conversations (`--format chat`) need none.",),
        "ep3": ("its reward is 0",),
        "ep4": ("The model drew no token at step 0, so there is nothing to train on.",),
        "ep5": ("it is of the held-out split",),
    }


def test_conversations_keep_tools_and_arguments_as_text(solved: Solved, tmp_path: Path) -> None:
    build("a", [solved(1), solved(2)], tmp_path / "a", format=Format.CHAT)
    rows = list(Dataset(tmp_path / "a").message_rows())
    assert rows == [messages_row(solved(1)), messages_row(solved(2))]
    assert rows[0]["messages"] == chat_row(solved(1))["messages"]
    assert json.loads(str(rows[0]["tools"])) == [TOOL]
    assert rows[1]["episode"] == "ep2"


def test_tasks_to_roll_out_once_each_however_they_went(solved: Solved, tmp_path: Path) -> None:
    opening = (SYSTEM, TASK)
    again = solved(1, 0.0, episode="ep9")
    unnamed = solved(4, metadata={"suite": "orders"})
    silent = solved(5, model_calls=())
    out = tmp_path / "a"
    manifest = build("a", [solved(1), solved(2, 0.0), solved(3, None), again, unnamed, silent], out, format=Format.GRPO)
    rows = list(Dataset(out).task_rows())
    assert [(row.task, row.suite, row.split, row.family) for row in rows] == [
        ("t1", "orders", "train", "refund"),
        ("t2", "orders", "train", "cancel"),
        ("t3", "orders", "train", "refund"),
    ]
    assert [message["content"] for message in rows[0].prompt] == [message.content for message in opening]
    assert [message["role"] for message in rows[0].prompt] == ["system", "user"]
    assert manifest.files[0].form is Form.TASKS
    assert {left.episode: left.reasons for left in manifest.excluded} == {
        "ep9": ("its task is there already",),
        "ep4": ("Episode ep4 has no label 'task'.",),
        "ep5": ("Episode ep5 has no accepted model call.",),
    }


@pytest.mark.parametrize("wanted", list(Format))
def test_the_held_out_split_is_refused_unless_it_is_expressly_allowed(
    wanted: Format, solved: Solved, tmp_path: Path
) -> None:
    held_out = [solved(1, split="held_out")]
    with pytest.raises(RequestError, match="held-out split is asked for"):
        build("a", held_out, tmp_path / "a", format=wanted, where="split=held_out")
    with pytest.raises(RequestError, match="None of 1 episodes") as caught:
        build("a", held_out, tmp_path / "a", format=wanted)
    assert "1 x it is of the held-out split" in str(caught.value)
    assert not list(tmp_path.iterdir())
    manifest = build("a", held_out, tmp_path / "a", format=wanted, where="split=held_out", held_out=True)
    assert manifest.files[0].rows == 1
    assert "cannot be measured on them" in (tmp_path / "a/README.md").read_text()


def test_rows_of_two_templates_are_refused(solved: Solved, tmp_path: Path) -> None:
    other = solved(2, model_calls=(model_call(0, FIRST, CALL, template_hash="u" * 64),))
    with pytest.raises(RequestError, match="rendered by 2 chat templates") as caught:
        build("a", [solved(1), other], tmp_path / "a", format=Format.SFT)
    assert "template=tttttttttttt" in (caught.value.mend or "")
    assert not list(tmp_path.iterdir())
    chosen = build("a", [solved(1), other], tmp_path / "a", format=Format.SFT, where="template=uuuu")
    assert chosen.files[0].episodes == ("ep2",)
    assert build("b", [solved(1), other], tmp_path / "b", format=Format.CHAT).files[0].rows == 2


def test_why_nothing_is_there(solved: Solved, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="None of 3 episodes") as caught:
        build("a", [solved(1), solved(2), solved(3, 0.0)], tmp_path / "a", format=Format.SFT, where="reward<1")
    assert caught.value.mend == "2 x not reward<1; 1 x its reward is 0"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "..", "a b", "x" * 65])
def test_names_that_are_none(name: str, solved: Solved, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no name for a dataset"):
        build(name, [solved(1)], tmp_path / "a", format=Format.SFT)


def test_nothing_is_replaced_unasked_and_a_failure_leaves_what_was_there(solved: Solved, tmp_path: Path) -> None:
    def breaking() -> Iterator[Trajectory]:
        yield solved(2)
        raise GatewayUnavailableError("gone")

    out = tmp_path / "a"
    build("a", [solved(1)], out, format=Format.SFT)
    with pytest.raises(ConflictError, match="holds an export already"):
        build("a", [solved(2)], out, format=Format.SFT)
    with pytest.raises(GatewayUnavailableError):
        build("a", breaking(), out, format=Format.SFT, overwrite=True)
    assert Dataset(out).manifest.files[0].episodes == ("ep1",)
    build("a", [solved(2)], out, format=Format.SFT, overwrite=True)
    assert Dataset(out).manifest.files[0].episodes == ("ep2",)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_is_told_and_leaves_what_was_there(solved: Solved, tmp_path: Path) -> None:
    build("a", [solved(1)], tmp_path / "a", format=Format.SFT)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, before[1]))  # no file may grow larger, as on a disk that is full
    try:
        for out in (tmp_path / "a", tmp_path / "b"):
            with pytest.raises(ConfigurationError, match="cannot be written: File too large"):
                build("a", map(solved, range(1, 99)), out, format=Format.SFT, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert Dataset(tmp_path / "a").manifest.files[0].episodes == ("ep1",)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_card_says_what_is_in_it(solved: Solved, tmp_path: Path) -> None:
    where = "suite=orders reward>=1"
    episodes = [solved(1), solved(2), solved(3), solved(4, 0.0), solved(5, split="held_out")]
    manifest = build("refunds", episodes, tmp_path / "a", format=Format.SFT, where=where)
    card = (tmp_path / "a/README.md").read_text()
    assert card.startswith("---\nconfigs:\n- config_name: default\n  data_files: tokens.jsonl\n---\n\n# refunds\n")
    for line in (
        "3 rows of 3 episodes, for `sft`.",
        f"Chosen with `{where}` on {manifest.created:%Y-%m-%d %H:%M} UTC.",
        "9 of 24 tokens were drawn by the model and are trained on.",
        "| cancel | 1 |",
        "| refund | 2 |",
        "5 episodes were looked at.",
        "- 1 x not reward>=1",
        "- 1 x it is of the held-out split",
        "- models: smol@1",
        f"- tokens.jsonl (SHA-256): {manifest.files[0].sha256}",
    ):
        assert line in card.splitlines(), line


def test_a_dataset_that_was_changed_is_noticed(solved: Solved, tmp_path: Path) -> None:
    out = tmp_path / "a"
    build("a", [solved(1)], out, format=Format.SFT)
    first = Dataset(out).digest
    build("b", [solved(1)], tmp_path / "b", format=Format.SFT)
    assert Dataset(tmp_path / "b").digest == first
    (out / "tokens.jsonl").write_text((out / "tokens.jsonl").read_text().replace("10", "13"))
    with pytest.raises(ConfigurationError, match="was changed since the dataset was built"):
        Dataset(out)
    (out / "tokens.jsonl").unlink()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Dataset(out)
    (out / "manifest.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="no manifest"):
        Dataset(out)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Dataset(tmp_path / "nowhere")


def forged(folder: Path, text: bytes) -> Dataset:
    """The dataset with other rows, and a manifest that says they are the right ones."""
    manifest = Dataset(folder).manifest
    (file,) = manifest.files
    (folder / file.name).write_bytes(text)
    changed = file.model_copy(update={"sha256": sha256(text).hexdigest()})
    (folder / "manifest.json").write_text(manifest.model_copy(update={"files": (changed,)}).model_dump_json())
    return Dataset(folder)


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (b"not JSON at all", "the whole: Invalid JSON"),
        (b"\x00\xff\xfe", "the whole: Invalid JSON"),
        (b"", "the whole: Invalid JSON"),
        (b"[1, 2]", "the whole: "),
        (b'{"input_ids": [1]}', "labels: Field required"),
        (b'{"input_ids": "1", "labels": [], "logprobs": [], "episode": "e", "step": 0}', "input_ids: "),
        (b'{"input_ids": [1.5], "labels": [], "logprobs": [], "episode": "e", "step": 0}', "input_ids.0: "),
        (b'{"input_ids": [1], "labels": [1], "logprobs": [0], "episode": "e", "step": 0, "x": 1}', "x: Extra inputs"),
    ],
)
def test_what_is_no_row_is_told_with_its_line(garbage: bytes, told: str, solved: Solved, tmp_path: Path) -> None:
    build("a", [solved(1)], tmp_path / "a", format=Format.SFT)
    good = (tmp_path / "a/tokens.jsonl").read_bytes()
    rows = forged(tmp_path / "a", good + garbage + b"\n").token_rows()
    assert next(rows).episode == "ep1"
    with pytest.raises(ConfigurationError) as caught:
        next(rows)
    assert f"tokens.jsonl, line 2, is no row: {told}" in caught.value.detail


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_one_flipped_bit_is_noticed(place: str, solved: Solved, tmp_path: Path) -> None:
    build("a", [solved(1), solved(2)], tmp_path / "a", format=Format.SFT)
    path = tmp_path / "a/tokens.jsonl"
    raw = bytearray(path.read_bytes())
    raw[{"first": 0, "middle": len(raw) // 2, "last": len(raw) - 1}[place]] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ConfigurationError, match="was changed since the dataset was built"):
        Dataset(tmp_path / "a")


def test_a_dataset_is_read_as_what_it_is(solved: Solved, tmp_path: Path) -> None:
    build("a", [solved(1)], tmp_path / "a", format=Format.CHAT)
    dataset = Dataset(tmp_path / "a")
    for read in (dataset.token_rows, dataset.task_rows):
        with pytest.raises(RequestError, match="holds messages, no"):
            read()
    build("b", [solved(1)], tmp_path / "b", format=Format.SFT)
    with pytest.raises(RequestError, match="holds tokens, no messages"):
        Dataset(tmp_path / "b").message_rows()


def test_lines_that_some_readers_would_break(solved: Solved, tmp_path: Path) -> None:
    odd = ANSWER.model_copy(update={"content": "one\u2028two\u0085three\nfour"})
    episode = solved(1, messages=(SYSTEM, TASK, CALL, RESULT, odd), model_calls=(model_call(0, FIRST, odd),))
    build("a", [solved(2), episode], tmp_path / "a", format=Format.CHAT, where="task=t1")
    text = (tmp_path / "a/messages.jsonl").read_text()
    assert text.isascii()
    rows: list[JsonObject] = [json.loads(line) for line in text.splitlines()]
    assert len(rows) == 1
    assert Manifest.model_validate_json((tmp_path / "a/manifest.json").read_bytes()).unmatched == {"task=t1": 1}
    messages = rows[0]["messages"]
    assert isinstance(messages, list)
    assert messages[-1] == {"role": "assistant", "content": odd.content}
