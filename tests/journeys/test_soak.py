"""Many calls at a time through real processes: the system, the ledger, the record and the audit log agree."""

import pytest

from benchmarks.soak import soak

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]


def test_of_a_thousand_calls_none_is_lost_and_none_is_made_twice() -> None:
    assert list(soak(1_000, 32)) == []
