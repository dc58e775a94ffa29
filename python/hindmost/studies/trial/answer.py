"""What the levels of a knob say: figures, ratios to the present state by round, and which to keep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.errors import StudyError
from hindmost.notes import Note
from hindmost.report.common import numbers
from hindmost.run.figure_cache import run_figures
from hindmost.run.figures import Totals
from hindmost.run.readings import plan_of
from hindmost.stats import compare_runs, over_runs
from hindmost.store import Study, now_utc
from hindmost.store import trial as documents
from hindmost.store.estimates import bounds, to_value, without_nan
from hindmost.studies.comparison.asked import MARGIN
from hindmost.studies.comparison.runs import unsound
from hindmost.studies.kind import again
from hindmost.studies.measure import pictures
from hindmost.studies.sides import unsound_rounds
from hindmost.studies.trial.asked import Asked
from hindmost.studies.trial.sides import STAGE, name_of

LEVEL = 0.05
"""Rate of trials in which any of all comparisons is wrong: each has its part of it (Bonferroni)."""


@dataclass(frozen=True, slots=True)
class Column:
    """One level's figures by round: ``values`` in the order of ``rounds``, one list a figure."""

    rounds: tuple[int, ...]
    values: Mapping[str, list[float]]
    distribution: Histogram

    def of(self, rounds: Sequence[int]) -> dict[str, list[float]]:
        """The figures of these rounds alone."""
        at = [self.rounds.index(number) for number in rounds]
        return {name: [values[place] for place in at] for name, values in self.values.items()}


def folder_of(place: int) -> str:
    """Where a level's runs lie: the present state first."""
    return str(place + 1)


def answer(study: Study) -> documents.Trial:
    """Everything that the runs say, read anew.

    Raises
    ------
    StudyError
        If no round is complete.
    """
    plan = plan_of(study)
    asked = Asked.of(study, plan)
    counted: list[tuple[tuple[int, ...], list[int]]] = []
    sound = 0
    aside: dict[str, Note] = {}
    for stage, places in enumerate(asked.stages):
        parts = _parts(study, places)
        made = _complete(parts, stage)
        left_out = unsound_rounds(parts, made, unsound)
        rounds = [number for number in made if number not in left_out]
        sound += 0 if stage else len(rounds)
        aside |= {name_of(number): why for number, why in left_out.items()}
        # Where none of the first counts, all are shown, and the headline says so.
        counted.append((places, rounds if stage else rounds or made))
    if not counted[0][1]:
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} has no complete round",
            hint=again(study),
            path=str(study.folder),
        )
    counted = [(places, rounds) for places, rounds in counted if rounds]
    tried = 1 + max(place for places, _ in counted for place in places)
    columns = [
        _column(part, [one for places, rounds in counted if place in places for one in rounds])
        for place, part in enumerate(_parts(study, range(tried)))
    ]
    levels = [_level(asked, place, columns) for place in range(tried)]
    best = best_of(levels, asked.by, one_stage=len(counted) == 1)
    document: documents.Trial = {
        "schema": "hindmost.trial/1",
        "version": __version__,
        "created": now_utc(),
        "verdict": "undecided",
        "headline": "",
        "study": study.folder.resolve().name,
        "target": plan.target,
        "rate_per_s": plan.rate_per_s,
        "knob": dict(asked.what),
        "by": asked.by,
        "rounds": sound,
        "aside": {name: why.document() for name, why in aside.items()},
        "levels": levels,
        "best": best,
        "keep": kept(levels, best, asked.by),
        "comparisons": asked.comparisons,
        "stages": [{"levels": list(places), "rounds": len(rounds)} for places, rounds in counted],
    }
    document["verdict"] = verdict_of(document)
    document["headline"] = _headline(document)
    return without_nan(document)


def _parts(study: Study, places: Iterable[int]) -> list[Study]:
    """The parts of levels; none where one of them was never begun."""
    folders = [study.folder / folder_of(place) for place in places]
    begun = all((folder / "manifest.json").exists() for folder in folders)
    return [Study.open(folder) for folder in folders] if begun else []


def best_of(levels: Sequence[documents.Level], by: str, *, one_stage: bool) -> int | None:
    """The place of the level with the lowest figure.

    In one stage all have the same rounds, and their figures compare. Levels of several stages compare by
    their ratios to the present state, which is in each: the host was another one meanwhile.
    """
    known = [
        (value, place)
        for place, one in enumerate(levels)
        if (value := _standing(one, by, one_stage)) is not None and value < math.inf
    ]
    return min(known)[1] if known else None


def _standing(level: documents.Level, by: str, one_stage: bool) -> float | None:
    value = _value(level, by)
    if one_stage or value is None or value == math.inf:
        return value
    return level["against"][by]["ratio"]["value"] if by in level["against"] else 1.0


def _complete(parts: Sequence[Study], stage: int) -> list[int]:
    """Rounds of a stage of which every level has its run."""
    if not parts:
        return []
    whole = set.intersection(*({run.number for run in part.runs()} for part in parts))
    return sorted(number for number in whole if number // STAGE == stage)


def kept(levels: Sequence[documents.Level], best: int | None, by: str) -> int | None:
    """The best level if it is proven better; None too where a run was infinitely late, which has no ratio."""
    against = levels[best]["against"].get(by) if best else None
    return best if against is not None and against["change"] == "lower" else None


def verdict_of(doc: documents.Trial) -> Literal["set", "leave", "undecided"]:
    """Set the best level, leave the present one, or neither."""
    if not doc["rounds"] or doc["best"] is None:
        return "undecided"
    if doc["keep"] is not None:
        return "set"
    known = _value(doc["levels"][0], doc["by"])
    finite = known is not None and known < math.inf
    return "leave" if finite and all(_no_better(one, doc["by"]) for one in doc["levels"][1:]) else "undecided"


def _no_better(level: documents.Level, by: str) -> bool:
    """Whether a level is proven not to lower the figure by more than the margin."""
    if by not in level["against"]:
        return _value(level, by) == math.inf
    low = level["against"][by]["ratio"]["low"]
    return low is not None and low > 1.0 / (1.0 + MARGIN)


def _column(study: Study, rounds: Sequence[int]) -> Column:
    plan, totals = plan_of(study), Totals()
    columns: dict[str, list[float]] = {}
    for number in rounds:
        stored = study.run(number)
        assert stored is not None
        run = run_figures(stored, plan)
        totals.merge(run.totals)
        for name, value in {**run.values["latency"], "sd": _sd_us(run.latency)}.items():
            columns.setdefault(name, []).append(value)
    return Column(tuple(rounds), columns, totals.whole["latency"])


def _sd_us(histogram: Histogram) -> float:
    """Of latency within a run, by the middles of bins; infinite where something was infinitely late."""
    if histogram.count == 0 or histogram.censored:
        return math.inf
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(float) for part in histogram.bins())
    middle = (low + high) / 2.0
    mean = np.average(middle, weights=counts)
    return math.sqrt(float(np.average((middle - mean) ** 2, weights=counts))) / 1e3


def _level(asked: Asked, place: int, columns: Sequence[Column]) -> documents.Level:
    own, present = columns[place], columns[0]
    confidence = 1.0 - LEVEL / asked.comparisons
    return {
        "level": asked.levels[place],
        "folder": folder_of(place),
        "latency_us": {
            name: to_value(over_runs(values, asked.plan.middle)) for name, values in own.values.items()
        },
        "values_us": {name: list(values) for name, values in own.values.items()},
        "against": {} if place == 0 else _against(present.of(own.rounds), own.values, confidence),
        "distribution": pictures.curve(own.distribution),
    }


def _against(
    before: Mapping[str, list[float]], after: Mapping[str, list[float]], confidence: float
) -> dict[str, documents.Change]:
    found: dict[str, documents.Change] = {}
    for name, values in after.items():
        both = [*before[name], *values]
        if not all(0.0 < value < math.inf for value in both):
            continue
        one = compare_runs(before[name], values, confidence)
        ratio = {"value": one.ratio.value, **bounds(one.ratio.low, one.ratio.high)}
        found[name] = {"change": one.change, "ratio": ratio}  # type: ignore[typeddict-item]
    return found


def _value(level: documents.Level, name: str) -> float | None:
    return level["latency_us"][name]["value"]


def _headline(doc: documents.Trial) -> str:
    """What to do, and what the mean says where it says something else."""
    by, levels, best = doc["by"], doc["levels"], doc["best"]
    present = levels[0]["level"]
    if not doc["rounds"]:
        why = next(iter(doc["aside"].values()))["text"]
        return f"no round counts ({why}), so nothing is known of {_of(doc['knob'])}"
    if best is None:
        return f"every level of {_of(doc['knob'])} is infinitely late"
    one = levels[best]["against"].get(by)
    span = "" if one is None else f" ({_times(one['ratio'])} of {present})"
    figure = f"{by} {numbers.latency(_value(levels[best], by))}{span}"
    knob = _of(doc["knob"])
    text = {
        "set": f"set {knob} to {levels[best]['level']}: {figure}",
        "leave": f"leave {knob} at {present}: no level lowers {by} by more than {numbers.percent(MARGIN)}",
        "undecided": f"not decided: lowest so far is {knob} {levels[best]['level']}, {figure}",
    }[doc["verdict"]]
    return text + _apart(doc)


def conflicting(levels: Sequence[documents.Level], by: str) -> list[str]:
    """The levels that lower either the mean or the figure `by`, and raise the other."""
    return [
        one["level"]
        for one in levels[1:]
        if {one["against"][name]["change"] for name in ("mean", by) if name in one["against"]}
        == {"lower", "higher"}
    ]


def _apart(doc: documents.Trial) -> str:
    """Name the levels whose mean and asked figure disagree: following one loses the other."""
    by, conflicts = doc["by"], conflicting(doc["levels"], doc["by"])
    found = {one["level"]: one["against"] for one in doc["levels"] if one["level"] in conflicts}
    told = [
        f"{level} has a {one['mean']['change']} mean and a {one[by]['change']} {by}"
        for level, one in found.items()
    ]
    return f"; {'; '.join(told)}" if told else ""


def _of(what: Mapping[str, object]) -> str:
    return ", ".join(key if value is True else f"{key} {value}" for key, value in what.items())


def _times(ratio: documents.Span) -> str:
    ends = (
        "" if ratio["low"] is None or ratio["high"] is None else f" [{ratio['low']:.2f}, {ratio['high']:.2f}]"
    )
    return f"{ratio['value']:.2f}{ends}"
