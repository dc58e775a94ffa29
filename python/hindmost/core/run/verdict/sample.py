"""Whether the runs support the claim."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hindmost.core.plan.units import format_us, label
from hindmost.core.run import limits
from hindmost.core.run.capacity import fell_short
from hindmost.core.run.exclusion import exhausted_budget
from hindmost.core.run.request.quick import FULL_S
from hindmost.core.run.request.quick import RUNS as QUICK_RUNS
from hindmost.core.run.text import join_names
from hindmost.core.run.verdict.reason import Evidence, Level, Reason
from hindmost.stats import middle_interval, modality, order_effect


def precision(e: Evidence) -> Iterator[Reason]:
    """Intervals are wider than the requested precision."""
    if e.decision.reached or fell_short(e.plan, e.runs):  # more runs at this rate would not help
        return
    if e.plan.quick and e.decision.runs >= QUICK_RUNS:
        yield _quick(e)
        return
    enough = e.decision.runs >= 2
    excluded = len(e.partition.excluded) if e.partition is not None else 0
    counted = len(e.runs) if e.partition is None or e.partition.any_counts else 0
    of_host = excluded > 0 and exhausted_budget(counted, excluded, e.plan) is not None
    hint, values = _how_to_know_more(e)
    yield Reason(
        "wide-intervals",
        "inconclusive",
        e.decision.reason
        if enough
        else "there is no interval, because one run does not show how runs differ",
        hint,
        _too_wide(e) if enough else (),
        "host" if of_host else None,
        "too few runs count" if of_host else "",
        {
            "runs": e.decision.runs,
            "name": e.decision.widest,
            "half_width": finite(e.decision.half_width),
            "precision": e.plan.precision,
            **values,
        },
    )


def finite(value: float) -> float | None:
    """Return the value, or None where JSON has no number for it."""
    return value if math.isfinite(value) else None


def _quick(e: Evidence) -> Reason:
    """Return the note of a quick look: its limits, and the full measurement."""
    width = e.decision.half_width
    wide = f" (±{100.0 * width:,.0f} % at {e.decision.widest})" if math.isfinite(width) else ""
    least, most = (seconds / 60.0 for seconds in FULL_S)
    return Reason(
        "quick-look",
        "note",
        f"quick look: {len(e.runs)} runs of {e.plan.duration_s:g} s give wide intervals{wide}, and may miss a"
        " state that every third run is in",
        f"without `--quick`: 10 to 30 runs until ±5 %, in {least:.2g} to {most:.2g} minutes",
        values={
            "runs": len(e.runs),
            "duration_s": e.plan.duration_s,
            "half_width": finite(width),
            "name": e.decision.widest,
        },
    )


def excluded_runs(e: Evidence) -> Iterator[Reason]:
    """Runs were excluded."""
    if e.partition is None or not e.partition.excluded:
        return
    excluded = e.partition.excluded
    made = len(excluded) + (len(e.runs) if e.partition.any_counts else 0)
    number, why = list(excluded.items())[-1]
    values = {"excluded": len(excluded), "made": made, "run": number, "code": why.code}
    if not e.partition.any_counts:
        yield Reason(
            "excluded-runs",
            "inconclusive",
            f"all {made} runs show interference, so the figures describe this machine as much as the server;"
            f" run {number}: {why}",
            "`hindmost host doctor` shows the interference; use a separate CPU for each, or repeat at a"
            " quieter time",
            values=values,
        )
        return
    yield Reason(
        "excluded-runs",
        "note",
        f"{len(excluded)} of {made} runs were excluded because of interference and repeated; run"
        f" {number}: {why}",
        "`hindmost host doctor` shows the interference",
        values=values,
    )


def _too_wide(e: Evidence) -> tuple[str, ...]:

    values = {name: [run.values["latency"][name] for run in e.runs] for name in e.plan.labels}
    about = e.plan.middle
    wide = tuple(
        n for n, v in values.items() if middle_interval(v, about).relative_half_width > e.plan.precision
    )
    return wide or (e.decision.widest,)


def _how_to_know_more(e: Evidence) -> tuple[str, dict[str, Any]]:
    """Return a command with more runs if a few more would do, else with a precision this host can reach."""
    if not e.again.startswith("hindmost measure"):  # the larger study sets the number of runs
        return f"`{e.again}`", {}
    runs, width = e.decision.runs, e.decision.half_width
    # An interval shrinks with the square root of the runs. Propose 1.5 times as many: its width is an
    # estimate.
    need = math.ceil(1.5 * runs * (width / e.plan.precision) ** 2) if math.isfinite(width) else 0
    if runs < 3:  # two runs show almost nothing about how runs differ
        return f"`{e.again} --runs 10..30`", {}
    if need <= limits.RUNS_WORTH_ASKING:
        return f"`{e.again} --runs {runs}..{max(need, 2 * max(5, runs))}`", {"need": need}
    about = f"±{100.0 * e.plan.precision:g} % would take about {need:,} runs on this machine"
    reachable = width * math.sqrt(1.5 * runs / limits.RUNS_WORTH_ASKING)
    if runs >= limits.RUNS_WORTH_ASKING or reachable >= 1.0:
        return f"{about}: see `hindmost host doctor`, or use lower `--quantiles`", {"need": need}
    return (
        f"{about}: use a quieter machine, lower `--quantiles`, or less precision:"
        f" `{e.again} --runs {runs}..{limits.RUNS_WORTH_ASKING} --precision {reachable:.0%}`",
        {"need": need, "reachable": reachable},
    )


def samples(e: Evidence) -> Iterator[Reason]:
    """Runs have too few requests above a quantile."""
    fewest = min(client.latency.count for run in e.runs for client in run.clients)
    thin: dict[Level, list[str]] = {"inconclusive": [], "note": []}
    for level in e.plan.quantiles:
        beyond = fewest * (1.0 - level)
        if beyond < limits.SAMPLES_INCONCLUSIVE:
            thin["inconclusive"].append(label(level))
        elif beyond < limits.SAMPLES_MIND:
            thin["note"].append(label(level))
    for grade, names in thin.items():
        if names:
            highest = max(q for q in e.plan.quantiles if label(q) in names)
            above = fewest * (1.0 - highest)
            noun = "request" if round(above) == 1 else "requests"
            need = limits.SAMPLES_MIND / (1.0 - highest) / max(1, fewest) * e.plan.duration_s
            yield Reason(
                "few-samples",
                grade,
                f"one client has only {above:.0f} {noun} above {label(highest)} in a run;"
                f" with fewer than {limits.SAMPLES_MIND} a run's quantile is biased, with fewer than"
                f" {limits.SAMPLES_INCONCLUSIVE} it says little",
                f"`--duration {math.ceil(need)}s`, a higher `--rate`, or lower `--quantiles`",
                tuple(names),
                values={
                    "name": label(highest),
                    "have": above,
                    "need": limits.SAMPLES_MIND,
                    "duration_s": math.ceil(need),
                },
            )


def spread(e: Evidence) -> Iterator[Reason]:
    """Runs form two groups, or drift with their order."""
    drifts: dict[str, float | None] = {}
    parts: list[str] = []
    for name in e.plan.labels:
        values = [run.values["latency"][name] for run in e.runs]
        groups, trend = modality(values), order_effect(values)
        if groups is not None and groups.bimodal:
            yield Reason(
                "two-states",
                "note",
                f"{name}: {groups.text}",
                "see the chart of runs in the page",
                (name,),
                values={
                    "name": name,
                    "low_us": groups.low_mean,
                    "high_us": groups.high_mean,
                    "high_share": groups.high_share,
                },
            )
        if trend is not None and trend.drifting:
            slope = f" by {format_us(trend.slope)} per run" if trend.slope is not None else ""
            drifts[name] = trend.slope
            parts.append(f"{name}{slope} (p = {trend.p_value:.2g})")
    if drifts:
        yield Reason(
            "drift",
            "note",
            f"latency changes with the order of runs, so host or server changed: {join_names(parts)}",
            "repeat later; `hindmost host doctor` shows what else runs",
            tuple(drifts),
            values={"us_per_run": drifts},
        )
