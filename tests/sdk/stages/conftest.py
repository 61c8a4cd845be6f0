"""What training needs is not everywhere: its tests say so and stand aside."""

from importlib.util import find_spec

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("train") is not None and any(find_spec(name) is None for name in ("torch", "trl")):
        pytest.skip("training is NOT tested here: install it with pip install 'practicum[train]'")
