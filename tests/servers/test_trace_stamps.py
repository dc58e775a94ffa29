"""A trace's first and last stamp beside the kernel's own of the same packets, which no busy host moves apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benches.trace_stamps import collect_stamps
from hindmost import _engine

FAULT = _engine.trace_fault()
pytestmark = pytest.mark.skipif(
    FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
)
WITHIN_NS = 200
"""The accuracy that is claimed; what the clocks' distance is known by takes some 20 ns of it."""


def test_first_and_last_stamp_are_those_of_the_kernel(tmp_path: Path) -> None:
    seen = collect_stamps(300, tmp_path)
    off = seen.e1 - seen.came
    assert np.abs(off).max() <= WITHIN_NS, np.quantile(off, [0, 0.5, 1])
    assert (seen.e6 - seen.queued).min() >= -WITHIN_NS, "behind the queue"
    assert (seen.sent - seen.e6).min() >= -WITHIN_NS, "before the driver's stamp"
