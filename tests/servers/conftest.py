"""What tests of whole programs share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from measuring import Household


@pytest.fixture
def household() -> Iterator[Household]:
    """Whoever asks for it ends with nothing left behind."""
    one = Household()
    yield one
    try:
        one.assert_empty()
    finally:
        one.close()
