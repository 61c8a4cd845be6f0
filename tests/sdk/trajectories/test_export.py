"""Exports are whole or absent, say what they hold and left out, and replace nothing unasked."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from practicum.codecs.bodies import chat_body, sent
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelCall, ModelSpec, Provider, Sampling
from practicum.contracts.trajectory import Reward, Trajectory, Use
from practicum.errors import ConfigurationError, ConflictError, GatewayUnavailableError, RequestError
from practicum.trajectories import Form, Manifest, TokenRow, chat_row, export, token_rows
from tests.sdk.trajectories.conftest import ANSWER, CALL, FIRST, SECOND, Recorded, model_call


def lines(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_both_forms_with_a_manifest(recorded: Recorded, tmp_path: Path) -> None:
    right = recorded()
    failed = recorded(episode="ep2", rewards=(Reward(reward=0.0, source="verifier"),))
    closed = recorded(episode="ep3", model_calls=(model_call(0, None, CALL, version="gpt@7", template_hash=None),))
    out = tmp_path / "new" / "train"
    manifest = export([right, failed, closed], out, forms=(Form.TOKENS, Form.CHAT), query={"suite": "orders"})
    assert sorted(path.name for path in out.iterdir()) == ["chat.jsonl", "manifest.json", "tokens.jsonl"]
    assert lines(out / "chat.jsonl") == [chat_row(right), chat_row(closed)]
    assert lines(out / "tokens.jsonl") == [json.loads(row.model_dump_json()) for row in token_rows(right)]
    assert Manifest.model_validate_json((out / "manifest.json").read_bytes()) == manifest
    chat, tokens = manifest.files
    assert (chat.format, chat.rows, chat.episodes, chat.tokens) == ("practicum-chat/1", 2, ("ep1", "ep3"), None)
    assert (tokens.rows, tokens.tokens, tokens.trainable_tokens) == (1, 8, 3)
    for file in manifest.files:
        assert sha256((out / file.name).read_bytes()).hexdigest() == file.sha256
    assert [(left.episode, left.form) for left in manifest.excluded] == [("ep2", None), ("ep3", Form.TOKENS)]
    assert manifest.excluded[0].reasons == ("its reward is 0",)
    assert (manifest.seen, manifest.models, manifest.templates) == (3, ("gpt@7", "smol@1"), ("t" * 64,))
    assert manifest.query == {"suite": "orders", "min_reward": None, "held_out": False}


def test_an_export_of_tokens_holds_no_quarantined_call(recorded: Recorded, tmp_path: Path) -> None:
    spec = ModelSpec(alias="local", provider=Provider.LITELLM, target="openai/gpt")
    asked = sent(spec, chat_body(spec.target, (), (), Sampling()))
    first = model_call(0, FIRST, CALL, sent=asked)
    unsure = model_call(1, SECOND, ANSWER, candidates=("m0", "m9"))
    whole = recorded(episode="ep2")
    manifest = export([recorded(model_calls=(first, unsure)), whole], tmp_path / "a", forms=(Form.TOKENS,))
    assert manifest.quarantined == {"ep1": ("m1",)}
    rows = lines(tmp_path / "a/tokens.jsonl")
    assert [row["calls"] for row in rows] == [["m0"], ["m0", "m1"]]
    assert [row["requests"] for row in rows] == [[asked.digest], ["", ""]]
    with pytest.raises(RequestError, match="None of 1") as caught:
        export([recorded(model_calls=(unsure,))], tmp_path / "b", forms=(Form.TOKENS,))
    assert "whose place among the others is known" in (caught.value.mend or "")
    with pytest.raises(RequestError, match="None of 1"):
        export([recorded(model_calls=(first, unsure))], tmp_path / "b", forms=(Form.TOKENS,), use=Use.RL)


def test_an_export_of_an_earlier_release_still_reads(recorded: Recorded, tmp_path: Path) -> None:
    export([recorded()], tmp_path / "a", forms=(Form.TOKENS,))
    manifest = json.loads((tmp_path / "a/manifest.json").read_bytes())
    row = lines(tmp_path / "a/tokens.jsonl")[0]
    for added in (manifest.pop("quarantined"), row.pop("calls"), row.pop("requests")):
        assert added is not None
    assert Manifest.model_validate(manifest).quarantined == {}
    assert TokenRow.model_validate(row).calls == ()
    call = recorded().model_calls[0].model_dump(mode="json")
    for name in ("by", "candidates", "disagreement", "sent", "reasoning", "tokens_from"):
        del call[name]
    assert ModelCall.model_validate(call) == recorded().model_calls[0]


def test_what_is_held_out_is_written_only_when_asked(recorded: Recorded, tmp_path: Path) -> None:
    held_out = recorded(metadata={"split": "held_out"})
    with pytest.raises(RequestError, match="None of 1") as caught:
        export([held_out], tmp_path / "a")
    assert "1 x it is of the held-out split" in (caught.value.mend or "")
    assert export([held_out], tmp_path / "a", held_out=True).files[0].rows == 1


def test_only_what_was_rewarded_enough(recorded: Recorded, tmp_path: Path) -> None:
    half = recorded(episode="ep2", rewards=(Reward(reward=0.5, source="judge"),))
    unjudged = recorded(episode="ep3", rewards=())
    manifest = export([recorded(), half, unjudged], tmp_path / "a", min_reward=0.75)
    assert manifest.files[0].episodes == ("ep1",)
    assert len(manifest.excluded) == 2


def test_tokens_for_rl_take_failures_too(recorded: Recorded, tmp_path: Path) -> None:
    failed = recorded(episode="ep2", rewards=(Reward(reward=0.0, source="verifier"),))
    manifest = export([recorded(), failed], tmp_path / "a", forms=[Form.TOKENS], use=Use.RL)
    assert manifest.files[0].episodes == ("ep1", "ep2")
    assert [row["reward"] for row in lines(tmp_path / "a/tokens.jsonl")] == [1.0, 0.0]


def test_a_form_that_the_use_does_not_have_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no export of form 'chat' for the use 'rl'"):
        export([recorded()], tmp_path / "a", use=Use.RL)
    with pytest.raises(RequestError, match="at least one form"):
        export([recorded()], tmp_path / "a", forms=())


def test_nothing_is_replaced_unasked(recorded: Recorded, tmp_path: Path) -> None:
    out = tmp_path / "a"
    export([recorded()], out)
    before = (out / "manifest.json").read_bytes()
    with pytest.raises(ConflictError, match="holds an export already"):
        export([recorded()], out)
    assert (out / "manifest.json").read_bytes() == before
    manifest = export([recorded(episode="ep9")], out, overwrite=True)
    assert manifest.files[0].episodes == ("ep9",)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_of_somebody_else_is_never_replaced(recorded: Recorded, tmp_path: Path) -> None:
    out = tmp_path / "a"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(ConflictError, match="no export"):
        export([recorded()], out, overwrite=True)
    export([recorded()], tmp_path / "b")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    with pytest.raises(ConflictError, match="no export"):
        export([recorded()], tmp_path / "link", overwrite=True)


def test_a_failure_halfway_leaves_nothing(recorded: Recorded, tmp_path: Path) -> None:
    def breaking() -> Iterator[Trajectory]:
        yield recorded()
        raise GatewayUnavailableError("gone")

    export([recorded(episode="old")], tmp_path / "a")
    for out in (tmp_path / "a", tmp_path / "b"):
        with pytest.raises(GatewayUnavailableError):
            export(breaking(), out, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert Manifest.model_validate_json((tmp_path / "a/manifest.json").read_bytes()).files[0].episodes == ("old",)


def test_a_place_that_cannot_be_written(recorded: Recorded, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        export([recorded()], tmp_path / "file" / "out")
