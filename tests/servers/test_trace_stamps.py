"""A trace's first and last stamp beside the kernel's own of the same packets, which no busy host moves apart."""

from __future__ import annotations

import numpy as np
import pytest

from benches.trace_stamps import Stamped, stamped
from hindmost import _engine

FAULT = _engine.trace_fault()
pytestmark = pytest.mark.skipif(
    FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
)
WITHIN_NS = 200
"""The accuracy that is claimed; what the clocks' distance is known by takes some 20 ns of it."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Stamped:
    return stamped(300, tmp_path_factory.mktemp("stamps"))


def test_e1_is_the_stamp_that_a_capture_shows(seen: Stamped) -> None:
    off = seen.e1 - seen.came
    assert np.abs(off).max() <= WITHIN_NS, np.quantile(off, [0, 0.5, 1])


def test_e6_is_behind_the_queue_and_before_the_drivers_stamp(seen: Stamped) -> None:
    assert (seen.e6 - seen.queued).min() >= -WITHIN_NS
    assert (seen.sent - seen.e6).min() >= -WITHIN_NS
