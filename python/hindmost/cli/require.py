"""``--require``: whether a latency lies below a limit, and the exit code that says so."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.exits import Exit
from hindmost.plan import MeasurePlan, Threshold
from hindmost.studies.measure.kind import EXITS


def measured(plan: MeasurePlan, thresholds: Sequence[Threshold]) -> MeasurePlan:
    """Give the plan back, if all that is required of it will be measured."""
    for threshold in thresholds:
        if threshold.level is not None and threshold.level not in plan.quantiles:
            raise UsageError(
                f"--require {threshold.text!r} names a percentile that is not measured",
                hint=f"--quantiles {','.join(name[1:] for name in plan.labels)},{threshold.name[1:]}",
            )
    return plan


def exit_code(result: Mapping[str, Any], thresholds: Sequence[Threshold], study: Path) -> Exit:
    """Exit code of a measurement; says on standard error which threshold decided it.

    An invalid measurement decides nothing; where all thresholds are on calm latency, the verdict is the one
    without what thefts did. A threshold is crossed when the whole interval lies at or above it (a single run
    has no interval: its value decides), and undecided when the interval reaches it or several runs have none.
    Where it holds for the median and some runs lie above it, that is said.
    """
    calm = bool(thresholds) and all(threshold.calm for threshold in thresholds)
    code = EXITS[
        (result["calm"]["verdict"] if result.get("calm") else "inconclusive") if calm else result["verdict"]
    ]
    if code == Exit.INVALID:
        return code
    undecided = False
    for threshold in thresholds:
        if threshold.calm and (why := _no_calm(result)):
            _say(f"error: --require {threshold.text!r} is undecided: there is no calm latency: {why['text']}")
            _say(f"hint: needed: {why['need']}")
            return Exit.INCONCLUSIVE
        one = (result["calm"] if threshold.calm else result)["latency_us"][threshold.name]
        low, high = (one[end] if one[end] is not None else one["value"] for end in ("low", "high"))
        if low is None or low >= threshold.limit_us:
            _say(f"error: --require {threshold.text!r} does not hold: {_found(threshold, one)}")
            return Exit.CROSSED
        if high is None or high >= threshold.limit_us or (one["low"] is None and one["runs"] > 1):
            _say(f"error: --require {threshold.text!r} is undecided: {_found(threshold, one)}")
            undecided = True
        elif not threshold.calm and (above := _above(result, threshold)):
            _say(f"mind: --require {threshold.text!r} holds, but not in all runs: {above}")
    if undecided:
        runs = max(one["runs"] for one in result["latency_us"].values())
        _say(
            "hint: more runs narrow the interval:"
            f" hindmost measure --resume {study} --runs {2 * runs}..{max(30, 4 * runs)}"
        )
        return Exit.INCONCLUSIVE
    return code


def _no_calm(result: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Why there is no calm latency, where there is none."""
    if not result.get("calm"):
        return {"text": "this study did not look for thefts", "need": "a new study, without --resume"}
    refused: Mapping[str, str] | None = result["calm"]["refused"]
    return refused


def _above(result: Mapping[str, Any], threshold: Threshold) -> str:
    """The runs that lie above a limit, in words."""
    values = [(run["run"], run["latency_us"][threshold.name]) for run in result.get("runs", [])]
    above = [number for number, us in values if us is None or us >= threshold.limit_us]
    return f"{len(above)} of {len(values)} lie above it ({', '.join(map(str, above))})" if above else ""


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _found(threshold: Threshold, one: Mapping[str, Any]) -> str:
    name = f"calm {threshold.name}" if threshold.calm else threshold.name
    if one["value"] is None:
        return f"{name} is infinitely late"
    if one["low"] is None:
        runs = "one run" if one["runs"] == 1 else f"{one['runs']} runs"
        return f"{name} is {one['value']:.4g} us ({runs}, no interval)"
    high = "infinite" if one["high"] is None else f"{one['high']:.4g}"
    return f"{name} is {one['value']:.4g} us, interval {one['low']:.4g} to {high}"
