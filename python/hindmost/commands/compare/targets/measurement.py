"""A stored measurement as an arm of a comparison: its result, its runs, and what forbids to compare them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hindmost.commands.compare.arms import SERVERS_OWN
from hindmost.commands.compare.documents.targets import Side
from hindmost.commands.compare.figures import Columns, summarise
from hindmost.commands.measure.answer import answer
from hindmost.core.notes import Note
from hindmost.core.plan import share
from hindmost.core.store import Study, name_of
from hindmost.core.store.estimates import Value
from hindmost.core.store.measure import Curve, Measure
from hindmost.core.store.reading import load
from hindmost.core.store.types import Reason
from hindmost.errors import StudyError, UsageError
from hindmost.stats import Middle
from hindmost.stats.runs.contrast import CONFIDENCE
from hindmost.stats.tables import binomial_bounds

Row = Mapping[str, Value]
"""The figures of one run by percentile, with their intervals within the run."""
ERRORS_WIDE = 2.0 * 1.96
"""Width of a 95 % interval in standard errors."""
RATE_NOT_REACHED = ("rate-not-reached", "rate_unmet")
"""Codes of that reason; the second is in results that version 0.1 stored."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One arm.

    Attributes
    ----------
    label : str
        Its name, unique among the arms.
    study : Study
        Where it is stored.
    result : Measure
        Its result, ``hindmost.measure/2``.
    """

    label: str
    study: Study
    result: Measure

    def counted_runs(self) -> list[int]:
        """Return the numbers of the runs that count, or of all runs if none does."""
        runs = self.result.runs
        return [run.run for run in runs if not run.excluded] or [run.run for run in runs]

    def latency(self, numbers: Sequence[int]) -> Columns:
        """Return the latency of these runs by percentile; infinite where requests were never answered.

        Percentiles that a run lacks are left out.
        """
        runs = {run.run: run.latency_us for run in self.result.runs}
        columns = {
            name: [runs[number][name] for number in numbers]
            for name in self.result.latency_us
            if all(name in runs[number] for number in numbers)
        }
        return cast("Columns", columns)

    def isolated_by_run(self) -> dict[int, Row]:
        """Return the isolated latency of each run that has all of the study's percentiles."""
        names = self.result.isolated.latency_us if self.result.isolated else {}
        runs = {run.run: run.isolated.isolated_us for run in self.result.runs if run.isolated}
        return {
            number: {name: run[name] for name in names}
            for number, run in runs.items()
            if names and all(name in run and run[name].value is not None for name in names)
        }

    def latency_by_run(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Return the latency of these runs; its precision within a run is left open."""
        runs = {run.run: run.latency_us for run in self.result.runs}
        return {
            number: {name: Value(value=us, low=None, high=None) for name, us in runs[number].items()}
            for number in numbers
        }

    def unanswered_share(self, numbers: Sequence[int]) -> float:
        """Return the lower bound of the share of these runs' requests that were never answered."""
        counts = [run.counts for run in self.result.runs if run.run in numbers]
        missing, scheduled = (sum(share("unanswered", one)[place] for one in counts) for place in (0, 1))
        return float(binomial_bounds(missing, scheduled, CONFIDENCE)[0])

    def faults(self, *, isolated: bool = False) -> dict[str, Note]:
        """Return why latency, or isolated latency, cannot be compared, by percentile; ``*`` means all."""
        grave = [one for one in self.result.reasons if one.level == "invalid"]
        failing = next((one for one in grave if one.code == "errors"), None)
        if failing is not None:
            return {"*": self._fault(failing)}
        own = self.result.saturation is not None and self.result.saturation.by in SERVERS_OWN
        distorting = [one for one in grave if not (own and one.code in RATE_NOT_REACHED)]
        if not distorting:
            return {}
        estimates = self.result.latency_us
        if isolated:
            estimates = self.result.isolated.latency_us if self.result.isolated else {}
        return {
            name: self._fault(distorting[0]) for name, one in estimates.items() if one.verdict == "invalid"
        }

    def _fault(self, reason: Reason) -> Note:
        text = f"{self.label}: {shorten(reason.text)}"
        return Note(reason.code, text, {**(reason.values or {}), "side": self.label})

    def is_distorted(self, *, isolated: bool = False) -> bool:
        """Whether the instrument distorted latency, or isolated latency."""
        faults = self.faults(isolated=isolated)
        return bool(faults) and "*" not in faults

    def document(self, numbers: Sequence[int], isolated: Mapping[int, Row]) -> Side:
        """Return the arm as ``hindmost.compare/2`` has it, with the figures of the runs in the ratios."""
        columns, isolated_columns = self.latency(numbers), columns_of(isolated)
        manifest = self.study.manifest
        middle: Middle = self.result.over_runs.about if self.result.over_runs else "mean"
        return Side(
            label=self.label,
            folder=str(self.study.folder),
            study=self.study.folder.resolve().name,
            target=self.result.target,
            rate_per_s=manifest["plan"].get("rate_per_s"),
            created=manifest.get("created", self.result.created),
            version=manifest.get("version", self.result.version),
            verdict=self.result.verdict,
            runs=list(numbers),
            made=len(self.result.runs),
            latency_us=summarise(columns, middle),
            isolated_us=summarise(isolated_columns, middle),
            values_us={name: list(column) for name, column in columns.items()},
            isolated_values_us={name: list(column) for name, column in isolated_columns.items()},
            distribution=self.result.distributions.latency or Curve(q=[], us=[]),
        )


def columns_of(rows: Mapping[int, Row]) -> Columns:
    """Return the values of runs by percentile; percentiles that a run lacks are left out."""
    return {
        name: cast("list[float]", [row[name].value for row in rows.values()]) for name in shared_names(rows)
    }


def errors_of(rows: Mapping[int, Row]) -> Columns:
    """Return the standard errors of the logarithms of these values within their runs; NaN if unknown."""
    return {name: [_log_error(row[name]) for row in rows.values()] for name in shared_names(rows)}


def shared_names(rows: Mapping[int, Row]) -> list[str]:
    """Return the percentiles that all runs have."""
    listed = list(rows.values())
    return [name for name in listed[0] if all(name in row for row in listed)] if listed else []


def _log_error(value: Value) -> float:
    low, high = value.low, value.high
    if low is None or high is None or not 0.0 < low <= high < math.inf:
        return math.nan
    return (math.log(high) - math.log(low)) / ERRORS_WIDE


def load_measurements(folders: Sequence[Path]) -> list[Measurement]:
    """Load stored measurements; their labels tell them apart.

    Raises
    ------
    StudyError
        If a study is missing, is being written, or has no finished run.
    UsageError
        If a study is of another kind.
    """
    studies = [_open(folder) for folder in folders]
    return [
        Measurement(label, study, _result(study))
        for label, study in zip(label_folders(folders), studies, strict=True)
    ]


def _open(folder: Path) -> Study:
    study = Study.open(folder)
    if (kind := name_of(study.manifest)) != "measure":
        raise UsageError(
            "wrong-study-kind",
            f"{folder} is a study of kind {kind}, but only measurements can be compared",
            hint=f"hindmost study report {folder} shows its result; its parts are measurements: ls {folder}",
            path=str(folder),
            kind=kind,
            known=["measure"],
        )
    if study.busy():
        raise StudyError(
            "study-in-use",
            f"another hindmost is working in {folder}, so its runs are not complete",
            hint="wait for it, then compare again",
            path=str(folder),
        )
    if not _run_numbers(study):
        raise StudyError(
            "no-finished-runs", f"{folder} holds no finished run", hint=study.resume_command, path=str(folder)
        )
    return study


def _result(study: Study) -> Measure:
    # The stored result if it has all runs; otherwise a new one, which is not stored.
    try:
        result = load(study.folder / "result.json", Measure)
        if [run.run for run in result.runs] == _run_numbers(study):
            return result
    except (OSError, ValueError):
        pass
    return answer(study)


def _run_numbers(study: Study) -> list[int]:
    return sorted(int(path.parent.name) for path in study.folder.glob("runs/[0-9]*/run.json"))


def label_folders(folders: Sequence[Path]) -> list[str]:
    """Return short names that tell folders apart.

    >>> label_folders([Path("a/one"), Path("a/two")]), label_folders([Path("a/one"), Path("b/one")])
    (['one', 'two'], ['a/one', 'b/one'])
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    paths = [str(folder) for folder in folders]
    return paths if len(set(paths)) == len(paths) else [f"{path} ({n})" for n, path in enumerate(paths, 1)]


def shorten(text: str) -> str:
    """Return a reason without its details.

    >>> shorten("p50 is distorted by late sends: requests left late; other processes used the CPU")
    'p50 is distorted by late sends'
    """
    return re.split(r"[;:(]", text)[0].strip()
