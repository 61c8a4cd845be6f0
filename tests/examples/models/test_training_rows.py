import numpy as np
import pytest

from examples.models.rows import Row, read_rows, shared_opening, write_rows
from examples.models.train_adapter import Settings, halved, interleaved, packed, packs, share_of_rate

OPENING = [1, 10, 11, 2]


def _row(task: str, said: list[int], *, context: int = 2) -> Row:
    ids = [*OPENING, *range(100, 100 + context), *said]
    return Row(task, "family", ids, [False] * (len(ids) - len(said)) + [True] * len(said))


def test_rows_come_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rows") / "new" / "rows.jsonl"
    rows = [_row("a", [5, 6]), _row("b", [7])]
    write_rows(path, rows)
    assert read_rows(path) == rows


@pytest.mark.parametrize("trained", [[False] * 4, [True] * 3])
def test_a_row_without_anything_to_train_or_with_marks_that_do_not_fit_is_refused(
    trained: list[bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_rows(path, [Row("a", "family", OPENING, trained)])
    with pytest.raises(ValueError, match="cannot be trained on"):
        read_rows(path)


def test_the_shared_opening_ends_where_rows_part() -> None:
    rows = [Row("a", "f", [1, 2, 3, 4], [False] * 3 + [True]), Row("b", "f", [1, 2, 9, 4], [False] * 3 + [True])]
    assert shared_opening(rows) == (1, 2)


def test_an_opening_never_holds_what_is_trained() -> None:
    assert shared_opening([Row("a", "f", [1, 2, 3], [False, True, True])]) == (1,)


def test_a_pack_holds_the_opening_once_and_every_trained_token_with_the_one_before_it() -> None:
    rows = [_row("a", [5, 6]), _row("b", [7], context=0)]
    pack = packed(rows, tuple(OPENING))
    assert pack.ids == [*OPENING, 100, 101, 5, 6, 7]
    assert pack.positions == [0, 1, 2, 3, 4, 5, 6, 7, 4]
    assert pack.spans == [(4, 8), (8, 9)]
    assert pack.labels == [5, 6, 7]
    # The first token of the second episode follows the opening's last, not the first episode's.
    assert pack.targets == [5, 6, 3]


def test_every_row_is_packed_as_often_as_it_is_seen() -> None:
    rows = [_row(str(number), [number]) for number in range(7)]
    settings = Settings(passes=2.0, pack_tokens=7)
    steps = packs(rows, settings)
    assert sorted(label for pack in steps for label in pack.labels) == sorted([*range(7)] * 2)
    assert all(len(pack.ids) - len(shared_opening(rows)) <= settings.pack_tokens for pack in steps)
    assert packs(rows, settings) == steps


def test_the_rate_rises_falls_and_heeds_the_clock() -> None:
    assert share_of_rate(0.0, 0.0, 0.1) < share_of_rate(0.05, 0.0, 0.1) < share_of_rate(0.1, 0.0, 0.1) == 1.0
    assert share_of_rate(0.5, 0.0, 0.1) > share_of_rate(0.9, 0.0, 0.1) > share_of_rate(1.0, 0.0, 0.1) - 1e-9
    assert share_of_rate(0.2, 0.9, 0.1) == share_of_rate(0.9, 0.2, 0.1)


def test_the_order_of_rotary_rows_can_be_turned_back() -> None:
    values = np.arange(24.0).reshape(12, 2)
    turned = interleaved(values, 3)
    assert not np.array_equal(turned, values)
    assert np.array_equal(halved(turned, 3), values)
    # Of each head, the first row of the one half stands beside the first row of the other.
    assert [row[0] for row in turned[:4]] == [0.0, 4.0, 2.0, 6.0]
