"""A trace's first and last stamp agree with the kernel's own of the same packets, even on a busy host."""

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
"""The claimed accuracy, of which about 20 ns are the uncertainty between the clocks."""


def test_first_and_last_stamp_agree_with_the_kernels(tmp_path: Path) -> None:
    stamps = collect_stamps(300, tmp_path)
    off = stamps.e1 - stamps.came
    assert np.abs(off).max() <= WITHIN_NS, np.quantile(off, [0, 0.5, 1])
    assert (stamps.e6 - stamps.queued).min() >= -WITHIN_NS, "after the queue"
    assert (stamps.sent - stamps.e6).min() >= -WITHIN_NS, "before the driver's stamp"
