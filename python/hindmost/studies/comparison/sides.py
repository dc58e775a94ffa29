"""A stored measurement as one side of a comparison: its answer, its runs, and what may be said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.errors import StudyError, UsageError
from hindmost.notes import Note
from hindmost.plan import share
from hindmost.stats import Middle, over_runs
from hindmost.stats.runs.contrast import CONFIDENCE
from hindmost.stats.tables import binomial_bounds
from hindmost.store import Study, name_of
from hindmost.store.comparison import Side
from hindmost.store.estimates import Value, to_value
from hindmost.store.reading import read_document
from hindmost.studies.measure.answer import answer

Columns = dict[str, list[float]]
SERVERS_OWN = ("server", "connections", "silence")
"""Who keeps a rate from being carried, if not the instrument: then late replies are a finding."""


RATE_NOT_REACHED = ("rate-not-reached", "rate_unmet")
"""The code of that reason, here and in results that version 0.1 stored."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One side.

    Attributes
    ----------
    label : str
        Its name next to the others.
    study : Study
        Where it is stored.
    result : mapping
        Its answer, ``hindmost.measure/1``.
    """

    label: str
    study: Study
    result: Mapping[str, Any]

    def counted(self) -> list[int]:
        """Numbers of the runs that count; all, where none does."""
        runs = self.result["runs"]
        return [run["run"] for run in runs if not run.get("set_aside")] or [run["run"] for run in runs]

    def values(self, numbers: Sequence[int]) -> Columns:
        """Latency of these runs by percentile, infinite where it was infinitely late.

        A percentile that one of them lacks is left out.
        """
        runs = {run["run"]: run["latency_us"] for run in self.result["runs"]}
        return {
            name: [runs[number][name] for number in numbers]
            for name in self.result["latency_us"]
            if all(name in runs[number] for number in numbers)
        }

    def silent(self, numbers: Sequence[int]) -> float:
        """Share of the requests of these runs that got no answer, at least: the lower end of its interval."""
        counts = [run["counts"] for run in self.result["runs"] if run["run"] in numbers]
        none, due = (sum(share("unanswered", one)[place] for one in counts) for place in (0, 1))
        return float(binomial_bounds(none, due, CONFIDENCE)[0])

    def calm(self) -> dict[int, Mapping[str, float]]:
        """Calm latency of each run that has all of the study's percentiles; none where the study has none."""
        names = (self.result.get("calm") or {}).get("latency_us") or {}
        found = {run["run"]: run["calm"]["calm_us"] for run in self.result["runs"] if run.get("calm")}
        return {
            number: {name: one[name]["value"] for name in names}
            for number, one in found.items()
            if names and all(name in one and one[name]["value"] is not None for name in names)
        }

    def faults(self) -> dict[str, Note]:
        """By percentile, why its figures cannot be compared; ``*``: all of them."""
        grave = [one for one in self.result["reasons"] if one["level"] == "invalid"]
        failing = next((one for one in grave if one["code"] == "errors"), None)
        if failing is not None:
            return {"*": self._fault(failing)}
        own = (self.result.get("saturation") or {}).get("by") in SERVERS_OWN
        bent = [one for one in grave if not (own and one["code"] in RATE_NOT_REACHED)]
        if not bent:
            return {}
        return {
            name: self._fault(bent[0])
            for name, one in self.result["latency_us"].items()
            if one["verdict"] == "invalid"
        }

    def _fault(self, reason: Mapping[str, Any]) -> Note:
        text = f"{self.label}: {first_words(reason['text'])}"
        return Note(reason["code"], text, {**reason.get("values", {}), "side": self.label})

    @property
    def distorted(self) -> bool:
        """Whether it is the instrument that keeps figures from being compared."""
        return bool(self.faults()) and "*" not in self.faults()

    def document(self, numbers: Sequence[int], calm: Sequence[int]) -> Side:
        """As it stands in ``hindmost.compare/1``: figures of the runs that the ratios are made of."""
        columns, known = self.values(numbers), self.calm()
        calm_columns = {
            name: [known[number][name] for number in calm] for name in next(iter(known.values()), ()) if calm
        }
        return {
            "label": self.label,
            "folder": str(self.study.folder),
            "study": self.study.folder.resolve().name,
            "target": self.result["target"],
            "rate_per_s": self.study.manifest["plan"].get("rate_per_s"),
            "created": self.study.manifest.get("created", self.result["created"]),
            "version": self.study.manifest.get("version", self.result["version"]),
            "verdict": self.result["verdict"],
            "runs": list(numbers),
            "made": len(self.result["runs"]),
            "latency_us": self._figures(columns),
            "calm_us": self._figures(calm_columns),
            "values_us": {name: list(column) for name, column in columns.items()},
            "calm_values_us": {name: list(values) for name, values in calm_columns.items()},
            "distribution": self.result["distributions"].get("latency", {"q": [], "us": []}),
        }

    def _figures(self, columns: Columns) -> dict[str, Value]:
        """Median or mean over runs, as the study has it."""
        about: Middle = (self.result.get("over_runs") or {}).get("about", "mean")
        return {name: to_value(over_runs(values, about)) for name, values in columns.items()}


def opened(folder: Path) -> Study:
    """A stored measurement that may be compared.

    Raises
    ------
    StudyError
        If there is none, it is being written, or it has no finished run.
    UsageError
        If it is a study of another kind.
    """
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
    if not _numbers(study):
        raise StudyError(
            "no-finished-runs", f"{folder} holds no finished run", hint=study.resume_command, path=str(folder)
        )
    return study


def result_of(study: Study) -> Mapping[str, Any]:
    """Its answer: the stored one if that is of all its runs, else made anew, and not kept."""
    try:
        result = read_document(study.folder / "result.json")
        if result["schema"] == "hindmost.measure/1" and [r["run"] for r in result["runs"]] == _numbers(study):
            return dict(result)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return answer(study)


def labels_of(folders: Sequence[Path]) -> list[str]:
    """Short names that tell folders apart.

    >>> labels_of([Path("a/one"), Path("a/two")]), labels_of([Path("a/one"), Path("b/one")])
    (['one', 'two'], ['a/one', 'b/one'])
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    paths = [str(folder) for folder in folders]
    return paths if len(set(paths)) == len(paths) else [f"{path} ({n})" for n, path in enumerate(paths, 1)]


def first_words(text: str) -> str:
    """A reason without its particulars.

    >>> first_words("p50 tells of late sending: requests left late; others had the processor")
    'p50 tells of late sending'
    """
    return re.split(r"[;:(]", text)[0].strip()


def _numbers(study: Study) -> list[int]:
    return sorted(int(path.parent.name) for path in study.folder.glob("runs/[0-9]*/run.json"))
