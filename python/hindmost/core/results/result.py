"""Base class of all results: the document, its folder, page, figures, and display in notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from hindmost.core.frames import Library, frame
from hindmost.core.names import nearest
from hindmost.core.results.frames import Kept, load_requests
from hindmost.core.store.types import Reason
from hindmost.errors import HindmostError, StudyError, UsageError
from hindmost.present.blocks import View
from hindmost.present.figure import Figure, figures
from hindmost.present.markdown import render_markdown
from hindmost.present.notebook import fragment
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

Document = TypeVar("Document")
MOST_NOTES = 2
"""Number of reasons that a notebook shows. `Result.reasons` has all."""


class Result(ABC, Generic[Document]):
    """A result as DataFrames, figures and the document from which they are built.

    Attributes
    ----------
    document : msgspec.Struct or dict
        The document that ``--json`` prints.
    study : Path or None
        The study's folder. None for results without measurements (simulations, sweeps, fits).
    """

    TABLES: ClassVar[Sequence[str]] = ()
    """The tables that a kind of result has besides `latency`."""

    def __init__(
        self, document: Document, study: Path | None = None, *, frames: Library | None = None
    ) -> None:
        self.document = document
        self.study = study
        self._library = frames

    @property
    @abstractmethod
    def verdict(self) -> str:
        """Whether the figures can be trusted, or what was found."""

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return str(getattr(self.document, "headline", ""))

    @property
    def reasons(self) -> Sequence[Reason]:
        """The reasons of the verdict, each with a hint. Empty if there are none."""
        return cast("Sequence[Reason]", getattr(self.document, "reasons", ()))

    @property
    def latency(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """Latency as a DataFrame, in microseconds. It is infinite if too many requests were never answered.

        One row per figure: ``quantile``, ``value``, ``low``, ``high`` (ends of its interval), and columns
        that identify the row.
        """
        return self._frame(self._latency(), "quantile", "value", "low", "high")

    @cached_property
    def figures(self) -> Sequence[Figure]:
        """The page's figures, in their order."""
        return figures(self.view())

    def plot(self, name: str | None = None) -> Figure:
        """Return one of the page's figures. Without a name, return the first.

        Parameters
        ----------
        name : str, optional
            Its short name, for example ``"runs"``, or words of its title.

        Raises
        ------
        UsageError
            If the page has no figure of that name. The error lists the existing names.
        """
        words = (name or "").lower()
        named = [one for one in self.figures if one.name == words]
        if found := named or [one for one in self.figures if words in one.title.lower()]:
            return found[0]
        if not self.figures:
            raise UsageError(
                "unknown-name", "this page has no figures", hint="result.latency", name=name, known=[]
            )
        known = [one.name or one.title for one in self.figures]
        raise UsageError(
            "unknown-name",
            f"there is no figure {name!r}{nearest(words, known)}",
            hint="result.figures",
            name=name,
            known=known,
        )

    def save(self, path: str | Path) -> Path:
        """Write the page as one HTML file that needs no network.

        Raises
        ------
        StudyError
            If the file cannot be written.
        """
        path = Path(path)
        try:
            path.write_text(self.page(), encoding="utf-8")
        except OSError as error:
            raise StudyError(
                "unwritable-file",
                f"cannot write {path}: {error.strerror}",
                hint=f"ls -ld {path.absolute().parent}",
                path=str(path),
            ) from error
        return path

    def view(self) -> View:
        """Return what the terminal, the page and Markdown show."""
        raise NotImplementedError

    def page(self) -> str:
        """Return the page as HTML."""
        return render_page(self.view())

    def table(self) -> str:
        """Return the terminal's table."""
        return render_terminal(self.view())

    def markdown(self) -> str:
        """Return the answer as Markdown."""
        return render_markdown(self.view())

    def requests(self, kept: Kept = "samples") -> Any:  # noqa: ANN401 (a frame of either library)
        """Load single requests that the study stored. polars reads them lazily.

        Parameters
        ----------
        kept : {"samples", "worst"}
            A uniform sample of each run, or its slowest requests.

        Returns
        -------
        polars.LazyFrame or pandas.DataFrame
            One row per request: ``part`` of the study, ``run``, ``client`` (the client), ``latency_us``
            (null: never answered), and the columns of ``samples-K.parquet`` (docs/reference/study-folder.md).
            pandas has no lazy frames, so it reads everything at once.

        Raises
        ------
        StudyError
            If no requests were stored, or the result is not a study.
        """
        if self.study is None:
            raise StudyError(
                "no-requests",
                "a simulation, sweep or fit stores no requests; only measurements do",
                hint="hindmost.measure(...)",
            )
        return load_requests(self.study, kept, self._library)

    @abstractmethod
    def _latency(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of `latency`."""

    def _frame(self, rows: Sequence[Mapping[str, Any]], *columns: str) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        return frame(rows, self._library, columns)

    def _repr_html_(self) -> str:
        headline = self.headline.removeprefix(f"{self.verdict}: ")
        others = [one for one in self.reasons if one.text not in headline]
        notes = [f"{one.level}: {one.text}" for one in others[:MOST_NOTES]]
        try:
            drawn = self.plot()
        except HindmostError:
            drawn = None
        return fragment(self.verdict, headline, self._latency(), notes, drawn)

    def __repr__(self) -> str:
        """Return the kind, the verdict and the folder."""
        return f"<{type(self).__name__}: {self.verdict}{f', {self.study}' if self.study else ''}>"

    def __str__(self) -> str:
        """Return the terminal's table."""
        return self.table()
