"""Result of fitting a clone to logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.fit import FitResult as Document
from hindmost.core.frames import Library
from hindmost.core.results.result import Result


class FitResult(Result[Document]):
    """Result of `hindmost.clone.fit`.

    Attributes
    ----------
    clone : Clone
        The fitted clone, which can be simulated, swept, served or verified.
    """

    def __init__(self, document: Document, clone: Clone, *, frames: Library | None = None) -> None:
        super().__init__(document, frames=frames)
        self.clone = clone

    @property
    def verdict(self) -> str:
        """Name of the chosen law."""
        return self.document["law"]["taken"]

    @property
    def headline(self) -> str:
        """The clone's name, the number of requests and their mean time."""
        log = self.document["log"]
        busy = self.document["mean_busy_us"]
        return (
            f"{self.clone.name}: a clone fitted to {log['samples']:,} requests, {busy:.1f} µs each on average"
        )

    @property
    def laws(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per candidate law: its parameters, and its mean error on held-out latencies."""
        rows = [
            {name: one[name] for name in ("name", "parameters", "error", "misfit")}
            for one in self._candidates()
        ]
        return self._frame(rows)

    def page(self) -> str:
        """Return the page as HTML."""
        from hindmost.commands.clone.view.fit.page import render_fit_page

        return render_fit_page(self.document)

    def table(self) -> str:
        """Return the terminal's table."""
        from hindmost.commands.clone.view.fit.terminal import render_fit

        return render_fit(self.document)

    def save_clone(self, path: str | Path) -> Path:
        """Write the clone document as TOML, with remarks about the fit as comments."""
        from hindmost.commands.clone.writing import clone_text

        path = Path(path)
        path.write_text(clone_text(self.clone), encoding="utf-8")
        return path

    def _candidates(self) -> list[Any]:
        return list(self.document["law"]["candidates"])

    def _latency(self) -> list[dict[str, Any]]:
        """Return the log's service times, to which the clone was fitted."""
        log = self.document["log"]
        times = {"wall": log["wall_us"], "cpu": log["cpu_us"] or {}}
        return [
            {"of": of, "quantile": label, "value": us}
            for of, one in times.items()
            for label, us in one.items()
        ]
