"""A clone that was fitted to logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.models import Clone
from hindmost.results.frames import Library
from hindmost.results.result import Result
from hindmost.store.fit import FitResult as Document


class FitResult(Result[Document]):
    """What `hindmost.clone.fit` returns.

    Attributes
    ----------
    clone : Clone
        The clone, to be simulated, swept, served or verified.
    """

    def __init__(self, document: Document, clone: Clone, *, frames: Library | None = None) -> None:
        super().__init__(document, frames=frames)
        self.clone = clone

    @property
    def verdict(self) -> str:
        """The law that was taken."""
        return self.document["law"]["taken"]

    @property
    def headline(self) -> str:
        """What was fitted to how much."""
        log = self.document["log"]
        busy = self.document["mean_busy_us"]
        return f"{self.clone.name}: a clone of {log['samples']:,} requests, {busy:.1f} µs each in the mean"

    @property
    def laws(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """A row a candidate: its parameters, and its mean error on latencies that were held out."""
        rows = [
            {name: one[name] for name in ("name", "parameters", "error", "misfit")} for one in self._tried()
        ]
        return self._frame(rows)

    def page(self) -> str:
        """The page as HTML."""
        from hindmost.report.fit.page import render_fit_page

        return render_fit_page(self.document)

    def table(self) -> str:
        """The terminal's table."""
        from hindmost.report.fit.terminal import render_fit

        return render_fit(self.document)

    def save_clone(self, path: str | Path) -> Path:
        """Write the clone document, with what is known of it in notes: a file of TOML."""
        from hindmost.models.writing import clone_text

        path = Path(path)
        path.write_text(clone_text(self.clone), encoding="utf-8")
        return path

    def _tried(self) -> list[Any]:
        return list(self.document["law"]["candidates"])

    def _latency(self) -> list[dict[str, Any]]:
        """Service times of the log: what the clone was fitted to."""
        log = self.document["log"]
        times = {"wall": log["wall_us"], "cpu": log["cpu_us"] or {}}
        return [
            {"of": of, "quantile": label, "value": us}
            for of, one in times.items()
            for label, us in one.items()
        ]
