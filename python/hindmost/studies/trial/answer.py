"""What the levels of a knob say: figures, ratios to the present state by round, and which to keep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.errors import StudyError
from hindmost.report.common import numbers
from hindmost.run.figures import Totals, run_figures
from hindmost.run.readings import plan_of
from hindmost.stats import compare_runs, over_runs
from hindmost.store import Study, now_utc
from hindmost.store import trial as documents
from hindmost.store.estimates import bounds, finite, written
from hindmost.studies.comparison.runs import unsound
from hindmost.studies.kind import again
from hindmost.studies.measure import pictures
from hindmost.studies.sides import stored_run, unsound_rounds
from hindmost.studies.trial.asked import Asked

Columns = dict[str, list[float]]


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
    parts = [Study.open(study.folder / folder_of(place)) for place in range(len(asked.levels))]
    made = sorted(set.intersection(*({run.number for run in part.runs()} for part in parts)))
    if not made:
        raise StudyError(f"{study.folder} has no complete round", hint=again(study))
    aside = unsound_rounds(parts, made, unsound)
    rounds = [number for number in made if number not in aside]
    # Where none counts, all are shown, and the headline says so.
    counted = rounds or made
    columns = [_columns(part, counted) for part in parts]
    levels = [
        _level(asked, place, part, own, columns[0])
        for place, (part, own) in enumerate(zip(parts, columns, strict=True))
    ]
    known = [
        (value, place) for place, one in enumerate(levels) if (value := _value(one, asked.by)) is not None
    ]
    best = min(known)[1] if known else None
    document: documents.Trial = {
        "schema": "hindmost.trial/1",
        "version": __version__,
        "created": now_utc(),
        "headline": "",
        "study": study.folder.resolve().name,
        "target": plan.target,
        "rate_per_s": plan.rate_per_s,
        "knob": dict(asked.what),
        "by": asked.by,
        "rounds": len(rounds),
        "aside": {str(number): why for number, why in aside.items()},
        "levels": levels,
        "best": best,
        "keep": kept(levels, best, asked.by),
    }
    document["headline"] = _headline(document)
    return finite(document)


def kept(levels: Sequence[documents.Level], best: int | None, by: str) -> int | None:
    """The best level if it is proven better; None too where a run was infinitely late, which has no ratio."""
    against = levels[best]["against"].get(by) if best else None
    return best if against is not None and against["change"] == "lower" else None


def _columns(study: Study, counted: Sequence[int]) -> tuple[Columns, Totals]:
    plan, totals = plan_of(study), Totals()
    columns: Columns = {}
    for number in counted:
        stored = stored_run(study, number)
        assert stored is not None
        run = run_figures(stored, plan, totals)
        for name, value in {**run.values["latency"], "sd": _sd_us(run.latency)}.items():
            columns.setdefault(name, []).append(value)
    return columns, totals


def _sd_us(histogram: Histogram) -> float:
    """Of latency within a run, by the middles of bins; infinite where something was infinitely late."""
    if histogram.count == 0 or histogram.censored:
        return math.inf
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(float) for part in histogram.bins())
    middle = (low + high) / 2.0
    mean = np.average(middle, weights=counts)
    return math.sqrt(float(np.average((middle - mean) ** 2, weights=counts))) / 1e3


def _level(
    asked: Asked, place: int, part: Study, own: tuple[Columns, Totals], present: tuple[Columns, Totals]
) -> documents.Level:
    columns, totals = own
    return {
        "level": asked.levels[place],
        "folder": part.folder.name,
        "latency_us": {
            name: written(over_runs(values, asked.plan.middle)) for name, values in columns.items()
        },
        "values_us": {
            name: [value if math.isfinite(value) else None for value in values]
            for name, values in columns.items()
        },
        "against": {} if place == 0 else _against(present[0], columns),
        "distribution": pictures.curve(totals.whole["latency"]),
    }


def _against(before: Columns, after: Columns) -> dict[str, documents.Change]:
    found: dict[str, documents.Change] = {}
    for name, values in after.items():
        both = [*before[name], *values]
        if not all(0.0 < value < math.inf for value in both):
            continue
        one = compare_runs(before[name], values)
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
        return f"no round counts ({next(iter(doc['aside'].values()))}); nothing is said of {_of(doc['knob'])}"
    if best is None:
        return f"every level of {_of(doc['knob'])} is infinitely late"
    if best == 0:
        text = f"leave {_of(doc['knob'])} at {present}: it has the lowest {by}"
    else:
        one = levels[best]["against"].get(by)
        span = "" if one is None else f" ({_times(one['ratio'])} of {present})"
        do = "set" if doc["keep"] == best else "not decided: least with"
        text = f"{do} {_of(doc['knob'])} to {levels[best]['level']}: {by}"
        text += f" {numbers.latency(_value(levels[best], by))}{span}"
    return text + _apart(doc)


def _apart(doc: documents.Trial) -> str:
    """Levels whose mean and asked figure went apart: whoever follows one loses the other."""
    by, told = doc["by"], []
    for one in doc["levels"][1:]:
        mean, asked = (one["against"].get(name) for name in ("mean", by))
        if mean is None or asked is None or by == "mean":
            continue
        if {mean["change"], asked["change"]} == {"lower", "higher"}:
            told.append(f"{one['level']} has a {mean['change']} mean and a {asked['change']} {by}")
    return f"; {'; '.join(told)}" if told else ""


def _of(what: Mapping[str, object]) -> str:
    return ", ".join(key if value is True else f"{key} {value}" for key, value in what.items())


def _times(ratio: documents.Span) -> str:
    ends = (
        "" if ratio["low"] is None or ratio["high"] is None else f" [{ratio['low']:.2f}, {ratio['high']:.2f}]"
    )
    return f"{ratio['value']:.2f}{ends}"
