"""A program that waits for the disk in a few requests is fitted as one that does, and not as a busy host."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

from hindmost.models.fit import fit_clone, read_log
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

PROGRAM = Path(__file__).parents[1] / "shared" / "fsyncing.py"
REQUESTS = 8_000


def test_waits_for_the_disk_are_waits_inside_requests(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()

    def attempt() -> Finding:
        log = tmp_path / f"{next(tries)}.csv"
        words = [sys.executable, str(PROGRAM), str(log), str(tmp_path / "disk"), str(REQUESTS)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
        taken, waited = done.stdout.split()
        fit = fit_clone(read_log(log))
        assert fit.disturbance is not None
        scope = fit.disturbance.scope
        inside = sum(one.hits for one in fit.disturbance.own)
        low, high = (100.0 * share for share in scope.clock[1:])
        figure = (
            f"{waited} requests waited, {inside:.0f} in the clone; {scope.delayed} of {scope.expected:.0f}"
            f" delayed at an idle worker, {low:.0f} to {high:.0f} % by the clock; the host took {taken} s"
        )
        return Finding(scope.whom == "request" and abs(inside - int(waited)) <= 0.2 * int(waited), figure)

    claim.settle("waits for the disk are waits inside requests", attempt)
