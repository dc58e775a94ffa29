"""Whether the runs can carry the claim."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.plan.units import format_us, label
from hindmost.run import limits
from hindmost.run.capacity import fell_short
from hindmost.run.request.quick import FULL_S
from hindmost.run.request.quick import RUNS as QUICK_RUNS
from hindmost.run.set_aside import spent
from hindmost.run.verdict.reason import Evidence, Level, Reason, listed
from hindmost.stats import modality, order_effect, over_runs


def precision(e: Evidence) -> Iterator[Reason]:
    """The intervals are too wide."""
    if e.decision.reached or fell_short(e.plan, e.runs):  # more runs at this rate would not help
        return
    if e.plan.quick and e.decision.runs >= QUICK_RUNS:
        yield _quick(e)
        return
    enough = e.decision.runs >= 2
    aside = len(e.parted.aside) if e.parted is not None else 0
    counted = len(e.runs) if e.parted is None or e.parted.believed else 0
    of_host = aside > 0 and spent(counted, aside, e.plan) is not None
    yield Reason(
        "precision",
        "inconclusive",
        e.decision.reason if enough else "one run carries no interval: nothing is known of how runs differ",
        _how_to_know_more(e),
        _too_wide(e) if enough else (),
        "host" if of_host else None,
        "too few runs count" if of_host else "",
    )


def _quick(e: Evidence) -> Reason:
    """What a quick look does not promise, and what would."""
    width = e.decision.half_width
    wide = f": ±{100.0 * width:,.0f}% at {e.decision.widest}" if math.isfinite(width) else ""
    least, most = (seconds / 60.0 for seconds in FULL_S)
    return Reason(
        "quick",
        "mind",
        f"a quick look: {len(e.runs)} runs of {e.plan.duration_s:g} s, so the intervals are wide{wide}, and a"
        " state that every third run falls into may not have been seen",
        f"without `--quick`: 10 to 30 runs until ±5%, in {least:.2g} to {most:.2g} minutes",
    )


def disturbed(e: Evidence) -> Iterator[Reason]:
    """Runs were set aside."""
    if e.parted is None or not e.parted.aside:
        return
    aside = e.parted.aside
    made = len(aside) + (len(e.runs) if e.parted.believed else 0)
    said = f"the host disturbed {len(aside)} of {made} runs, by its counters and the client's clock"
    last = f"run {list(aside)[-1]}: {list(aside.values())[-1]}"
    if not e.parted.believed:
        yield Reason(
            "set_aside",
            "inconclusive",
            f"{said}: none is calm, and the figures tell as much of the host as of the server; {last}",
            "`hindmost doctor` tells what takes the processors; a processor of its own, or a quieter hour",
        )
        return
    yield Reason(
        "set_aside",
        "mind",
        f"{said}; they are kept, and others were made in their place; {last}",
        "`hindmost doctor` tells what takes the processors",
    )


def _too_wide(e: Evidence) -> tuple[str, ...]:

    values = {name: [run.values["latency"][name] for run in e.runs] for name in e.plan.labels}
    about = e.plan.middle
    wide = tuple(n for n, v in values.items() if over_runs(v, about).relative_half_width > e.plan.precision)
    return wide or (e.decision.widest,)


def _how_to_know_more(e: Evidence) -> str:
    """More runs where some more would do; else a precision that this host can give."""
    if not e.again.startswith("hindmost measure"):  # whatever it is a part of says how many runs it has
        return f"`{e.again}`"
    runs, width = e.decision.runs, e.decision.half_width
    # An interval shrinks with the square root of the runs; half as many again, as its width is a guess, too.
    need = math.ceil(1.5 * runs * (width / e.plan.precision) ** 2) if math.isfinite(width) else 0
    if runs < 3:  # two runs know next to nothing of how runs differ
        return f"`{e.again} --runs 10..30`"
    if need <= limits.RUNS_WORTH_ASKING:
        return f"`{e.again} --runs {runs}..{max(need, 2 * max(5, runs))}`"
    reachable = width * math.sqrt(1.5 * runs / limits.RUNS_WORTH_ASKING)
    if runs >= limits.RUNS_WORTH_ASKING or reachable >= 1.0:
        return f"some {need:,} runs would be needed: `hindmost doctor`, or lower `--quantiles`"
    return (
        f"some {need:,} runs would be needed: a quieter host, lower `--quantiles`, or less precision:"
        f" `{e.again} --runs {runs}..{limits.RUNS_WORTH_ASKING} --precision {reachable:.0%}`"
    )


def samples(e: Evidence) -> Iterator[Reason]:
    """Runs hold too few requests beyond a quantile."""
    fewest = min(one.latency.count for run in e.runs for one in run.instances)
    thin: dict[Level, list[str]] = {"inconclusive": [], "mind": []}
    for level in e.plan.quantiles:
        beyond = fewest * (1.0 - level)
        if beyond < limits.SAMPLES_INCONCLUSIVE:
            thin["inconclusive"].append(label(level))
        elif beyond < limits.SAMPLES_MIND:
            thin["mind"].append(label(level))
    for grade, names in thin.items():
        if names:
            highest = max(q for q in e.plan.quantiles if label(q) in names)
            need = limits.SAMPLES_MIND / (1.0 - highest) / max(1, fewest) * e.plan.duration_s
            yield Reason(
                "few_samples",
                grade,
                f"a run of one instance has only {fewest * (1.0 - highest):.0f} requests beyond"
                f" {label(highest)}; below {limits.SAMPLES_MIND} a run's quantile is biased, below"
                f" {limits.SAMPLES_INCONCLUSIVE} it says little",
                f"`--duration {math.ceil(need)}s`, a higher `--rate`, or lower `--quantiles`",
                tuple(names),
            )


def spread(e: Evidence) -> Iterator[Reason]:
    """Runs fall into two states, or drift with their order."""
    drifts: dict[str, str] = {}
    for name in e.plan.labels:
        values = [run.values["latency"][name] for run in e.runs]
        groups, trend = modality(values), order_effect(values)
        if groups is not None and groups.bimodal:
            yield Reason(
                "two_states",
                "mind",
                f"{name}: {groups.text}",
                "look at the chart of runs in the page",
                (name,),
            )
        if trend is not None and trend.drifting:
            slope = f" by {format_us(trend.slope)} a run" if trend.slope is not None else ""
            drifts[name] = f"{name}{slope} (p = {trend.p_value:.2g})"
    if drifts:
        yield Reason(
            "drift",
            "mind",
            "latency drifts with the order of runs, so the host or the server changes:"
            f" {listed([*drifts.values()])}",
            "repeat later; `hindmost doctor` tells what else runs",
            tuple(drifts),
        )
