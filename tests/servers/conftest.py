"""What tests of whole programs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import Household

TIMEOUT_S = 400
"""Whole programs on a busy host: what hangs is found by shorter patience within the tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All but those that name their own."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture
def household() -> Iterator[Household]:
    """Whoever asks for it ends with nothing left behind."""
    one = Household()
    yield one
    try:
        one.assert_empty()
    finally:
        one.close()
