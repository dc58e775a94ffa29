"""Result of comparing a clone with its original."""

from __future__ import annotations

from typing import Any

from hindmost.results.result import Result
from hindmost.store.verification import Verification


class VerificationResult(Result[Verification]):
    """Result of `hindmost.clone.verify`."""

    @property
    def verdict(self) -> str:
        """``equivalent``, ``different`` or ``open``."""
        return self.document["verdict"]

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        loads = ", ".join(f"{point['load']:.0%}" for point in self.document["points"])
        return f"{self.document['clone']} against {self.document['original']} at {loads} of the capacity"

    @property
    def ratios(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per load, quantile and comparison: the ratio, its 90 % interval, the conclusion.

        ``of`` is ``clone`` (relative to its original), ``as_logged`` (relative to the original's cost in the
        log) or ``floor`` (the original relative to itself).
        """
        rows = []
        for point in self.document["points"]:
            for name, figure in point["figures"].items():
                kinds = {"clone": figure["clone"], "as_logged": figure["as_logged"], "floor": figure["floor"]}
                rows += [
                    {"load": point["load"], "quantile": name, "of": of, **one}
                    for of, one in kinds.items()
                    if one is not None
                ]
        return self._frame(rows, "load", "quantile", "of", "ratio", "low", "high", "outcome")

    def page(self) -> str:
        """Return the page as HTML."""
        from hindmost.report.verification import render_verification_page

        return render_verification_page(self.document)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.report.verification import render_verification

        return render_verification(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        rows = []
        for point in self.document["points"]:
            for name, figure in point["figures"].items():
                sides = {
                    "original": figure["original_us"],
                    "clone": figure["clone_us"],
                    "predicted": figure["predicted_us"],
                }
                rows += [
                    {"load": point["load"], "of": of, "quantile": name, **us} for of, us in sides.items()
                ]
        return rows
