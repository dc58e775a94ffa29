"""Result of fitting a clone to logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.fit import FitResult as Document
from hindmost.core.frames import Library
from hindmost.core.results.result import Result
from hindmost.present.blocks import View


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
        return self.document.law.taken

    @property
    def headline(self) -> str:
        """The clone's name, the number of requests and their mean time."""
        busy = self.document.mean_busy_us
        return f"{self.view().headline}, {busy:.1f} µs each on average"

    @property
    def laws(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per candidate law: its parameters, and its mean error on held-out latencies."""
        names = ("name", "parameters", "error", "misfit")
        return self._frame(
            [{name: getattr(one, name) for name in names} for one in self.document.law.candidates]
        )

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        from hindmost.commands.clone.view.fit import view

        return view(self.document)

    def save_clone(self, path: str | Path) -> Path:
        """Write the clone document as TOML, with remarks about the fit as comments."""
        from hindmost.commands.clone.writing import clone_text

        path = Path(path)
        path.write_text(clone_text(self.clone), encoding="utf-8")
        return path

    def _latency(self) -> list[dict[str, Any]]:
        """Return the log's service times, to which the clone was fitted."""
        log = self.document.log
        return [
            {"of": of, "quantile": label, "value": us}
            for of, one in (("wall", log.wall_us), ("cpu", log.cpu_us or {}))
            for label, us in one.items()
        ]
