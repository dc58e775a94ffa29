"""The table of arrival laws, as Python reads it."""

from __future__ import annotations

import math
from typing import get_args

import pytest

from hindmost import laws
from hindmost.laws import LAWS, USUAL


def test_the_names_that_the_command_line_takes_are_those_of_the_table() -> None:
    assert get_args(laws.ArrivalLaw) == tuple(LAWS)
    assert next(iter(LAWS)) == USUAL


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.gaps], ids=lambda law: law.name)
def test_the_gaps_of_a_law_are_a_distribution(law: laws.Law) -> None:
    x = [0.0, 1e-9, 0.5, 1.0, 20.0]
    for below, log_above in zip(law.below(x), law.log_above(x), strict=True):
        assert below + math.exp(log_above) == pytest.approx(1.0)


def test_a_law_whose_gaps_have_no_distribution_is_not_asked_for_one() -> None:
    for law in LAWS.values():
        if not law.gaps:
            with pytest.raises(ValueError, match=law.name):
                law.below([1.0])
