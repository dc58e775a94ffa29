"""A program that waits for the disk in a few requests is fitted with those waits, not as a busy host."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

from hindmost.commands.clone.fit import fit_clone, read_log
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

PROGRAM = Path(__file__).parents[1] / "shared" / "fsyncing.py"
REQUESTS = 8_000


def test_waits_for_the_disk_are_fitted_as_waits_inside_requests(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()

    def attempt() -> Finding:
        log = tmp_path / f"{next(tries)}.csv"
        command = [sys.executable, str(PROGRAM), str(log), str(tmp_path / "disk"), str(REQUESTS)]
        process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        interference_s, waits = process.stdout.split()
        fit = fit_clone(read_log(log))
        assert fit.disturbance is not None
        scope = fit.disturbance.scope
        inside = sum(pauses.hits for pauses in fit.disturbance.own)
        low, high = (100.0 * share for share in scope.clock[1:])
        figure = (
            f"{waits} requests waited, {inside:.0f} in the clone; {scope.delayed} of {scope.expected:.0f}"
            f" delayed at an idle worker, {low:.0f} to {high:.0f} % by the clock; interference took {interference_s} s"
        )
        return Finding(scope.whom == "request" and abs(inside - int(waits)) <= 0.2 * int(waits), figure)

    claim.settle("waits for the disk are fitted as waits inside requests", attempt)
