"""From figures to a verdict: what, if anything, makes a number unfit to be believed, and what to do.

`valid`: nothing found. `invalid`: the instrument distorted the result. `inconclusive`: the machine or the
sample cannot carry the claim. `mind` reasons leave the verdict alone. Limits and their reasons: `limits`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hindmost.experiment import limits
from hindmost.experiment.figures import RunFigures
from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us, label
from hindmost.stats import Decision, Ownership, modality, order_effect

Level = Literal["invalid", "inconclusive", "mind"]
Verdict = Literal["valid", "invalid", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One finding. ``labels``: the quantiles it concerns; empty means the whole measurement."""

    code: str
    level: Level
    text: str
    hint: str | None = None
    labels: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As it stands in ``result.json``."""
        return {"code": self.code, "level": self.level, "text": self.text, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a judgement may look at."""

    plan: MeasurePlan
    target: Mapping[str, Any]
    runs: Sequence[RunFigures]
    decision: Decision
    owner: Ownership
    findings: Sequence[Mapping[str, Any]]
    study: str = "STUDY"


def judge(evidence: Evidence) -> list[Reason]:
    """All reasons, gravest first."""
    found = [reason for check in CHECKS for reason in check(evidence)]
    return sorted(found, key=lambda reason: ("invalid", "inconclusive", "mind").index(reason.level))


def overall(reasons: Sequence[Reason]) -> Verdict:
    """The verdict over everything that was asked for."""
    levels = {reason.level for reason in reasons}
    return "invalid" if "invalid" in levels else "inconclusive" if "inconclusive" in levels else "valid"


def of_label(reasons: Sequence[Reason], name: str) -> Verdict:
    """The verdict on one quantile."""
    return overall([reason for reason in reasons if not reason.labels or name in reason.labels])


def lateness(run: RunFigures, name: str) -> tuple[float, float]:
    """Share and microseconds of a run's latency quantile that come from sending late."""
    latency, service = run.values["latency"][name], run.values["service"][name]
    if not math.isfinite(latency) or latency <= 0.0:
        return 0.0, 0.0
    late = max(0.0, latency - service)
    return late / latency, late


def _late(e: Evidence) -> Iterator[Reason]:
    if e.plan.loop == "closed":
        return
    busy = max(one.busy_share for run in e.runs for one in run.instances)
    found: list[tuple[str, float, float]] = []
    for name in e.plan.labels:
        shares, lates = zip(*(lateness(run, name) for run in e.runs), strict=True)
        share, late = _mean(shares), _mean(lates)
        if share > limits.LATENESS and late > limits.LATENESS_FLOOR_US:
            found.append((name, share, late))
    if not found:
        return
    worst = max(found, key=lambda one: one[1])
    names = tuple(name for name, _, _ in found)
    cause, hint = _cause_of_lateness(e, busy)
    yield Reason(
        "slip",
        "invalid",
        f"{_listed(names)} tell{'s' if len(names) == 1 else ''} of late sending: requests left late, which"
        f" makes {worst[1]:.0%} ({format_us(worst[2])}) of {worst[0]}; {limits.LATENESS:.0%} is the limit;"
        f" {cause}",
        hint,
        names,
    )


def _cause_of_lateness(e: Evidence, busy: float) -> tuple[str, str]:
    delays = [
        one.run_delay_share for run in e.runs for one in run.instances if one.run_delay_share is not None
    ]
    if busy > limits.BUSY_MIND:
        return (
            f"a client was busy {busy:.0%} of the time",
            _more_clients(e),
        )
    if e.plan.pacing == "sleep":
        return (
            "the clients sleep between due times, for want of a processor each",
            "`--clients 1`, so that it can spin; or a processor for each client",
        )
    if delays and max(delays) > 0.001:
        return (
            f"other processes took up to {max(delays):.1%} of the client's processor",
            "stop them (`top -H -o %CPU` shows them), then `hindmost doctor`",
        )
    return (
        f"the client was busy only {busy:.0%} of the time, so the host took its processor away",
        "`hindmost doctor` shows the host's noise; ask for lower quantiles, or use a quieter machine",
    )


def _more_clients(e: Evidence) -> str:
    if e.plan.pacing == "sleep":
        return "a lower `--rate`, or a processor for each client"
    return f"a lower `--rate`; or `--clients {e.plan.clients + 1}`, if there is a processor for it"


def _arrivals(e: Evidence) -> Iterator[Reason]:
    seen = [one.arrivals for run in e.runs for one in run.instances if one.arrivals is not None]
    if not seen:
        return
    busy = max(one.busy_share for run in e.runs for one in run.instances)
    known = [one["distance"] for one in seen if one["distance"] is not None]
    distance = _mean(known) if known else 0.0
    asked = 1.0 if e.plan.arrivals == "exponential" else 0.0
    off = {}
    for name in seen[0]["dispersion"]:
        found = [one["dispersion"][name] for one in seen if one["dispersion"][name] is not None]
        # Runs are independent: the error of their mean shrinks with their number. Equal gaps have no chance.
        error = asked * _mean([one["dispersion_error"][name] for one in seen]) / math.sqrt(len(seen))
        if found and abs(_mean(found) - asked) > limits.DISPERSION + 3.0 * error:
            off[name] = _mean(found)
    if distance <= limits.ARRIVALS_MIND and not off:
        return
    cause, hint = _cause_of_lateness(e, busy)
    clumps = "".join(
        f"; dispersion of counts over {name} is {value:.3g}, not {asked:g}" for name, value in off.items()
    )
    yield Reason(
        "arrivals",
        "invalid" if distance > limits.ARRIVALS_INVALID else "mind",
        f"requests did not leave quite as ordered: Kolmogorov distance of their gaps {distance:.3f}"
        f" ({limits.ARRIVALS_MIND} is worth a word, {limits.ARRIVALS_INVALID} invalid){clumps}; {cause}",
        hint,
    )


def _busy(e: Evidence) -> Iterator[Reason]:
    busy = _mean([max(one.busy_share for one in run.instances) for run in e.runs])
    if busy > limits.BUSY_MIND and e.plan.loop == "open":
        level: Level = "invalid" if busy > limits.BUSY_INVALID else "mind"
        yield Reason(
            "client_busy",
            level,
            f"the busiest client worked {busy:.0%} of the time; above {limits.BUSY_INVALID:.0%} its own queue"
            f" distorts the tail, above {limits.BUSY_MIND:.0%} it can be seen",
            _more_clients(e),
        )


def _rate(e: Evidence) -> Iterator[Reason]:
    if e.plan.rate_per_s is None:
        return
    asked = e.plan.rate_per_s * e.plan.duration_s * len(e.runs)
    done = sum(run.counts["done"] + run.counts["errors"] for run in e.runs)
    chance = 4.0 / math.sqrt(asked) if e.plan.arrivals == "exponential" else 0.0
    missing = 1.0 - done / asked
    if missing > max(limits.RATE_SHORTFALL, chance):
        full = [s for run in e.runs if (s := run.record.get("server_cpu_share")) is not None]
        cpus = max(1, len(e.target.get("cpus") or [0]))
        why = (
            f"; the server used {_mean(full) / cpus:.0%} of its processors: it is saturated"
            if full and _mean(full) / cpus > limits.BUSY_INVALID
            else ""
        )
        yield Reason(
            "rate_unmet",
            "invalid",
            f"{e.plan.rate_per_s:.0f} requests a second were asked, {done / asked:.1%} of them were sent and"
            f" answered{why}",
            f"`--rate {max(1.0, 0.8 * done / (e.plan.duration_s * len(e.runs))):.0f}`",
        )


def _unanswered(e: Evidence) -> Iterator[Reason]:
    totals = {
        name: sum(run.counts[name] for run in e.runs)
        for name in ("due", "timeouts", "unsent", "errors", "misses", "done")
    }
    due = max(1, totals["due"])
    late = totals["timeouts"] + totals["unsent"]
    if late:
        reached = tuple(
            n for n in e.plan.labels if any(math.isinf(run.values["latency"][n]) for run in e.runs)
        )
        which = (
            f"{_listed(reached)} reach{'es' if len(reached) == 1 else ''} them"
            if reached
            else "no asked quantile reaches them"
        )
        yield Reason(
            "infinitely_late",
            "mind",
            f"{totals['timeouts']} requests timed out after {e.plan.timeout_s:g} s and {totals['unsent']}"
            f" could not be sent ({late / due:.2%}): they count as infinitely late; {which}",
            "a lower `--rate`, or see the server's log",
        )
    errors = totals["errors"] / due
    if errors > limits.ERROR_MIND:
        said = next(
            (m for run in e.runs for one in run.instances if (m := one.result.get("first_error"))), None
        )
        yield Reason(
            "errors",
            "invalid" if errors > limits.ERROR_INVALID else "mind",
            f"{totals['errors']} requests ({errors:.2%}) failed"
            + (f"; the server said {said!r}" if said else ""),
            "see the server's log; errors have no latency, so the rest may look too good",
        )
    misses = totals["misses"] / max(1, totals["done"])
    if misses > limits.MISS_MIND:
        yield Reason(
            "misses",
            "mind",
            f"{misses:.1%} of requests missed, though every key was stored before: the server forgets or"
            " evicts",
            "give the server more memory, or the workload fewer keys",
        )


def _precision(e: Evidence) -> Iterator[Reason]:
    if e.decision.reached:
        return
    enough = e.decision.runs >= 2
    yield Reason(
        "precision",
        "inconclusive",
        e.decision.reason if enough else "one run carries no interval: nothing is known of how runs differ",
        f"`hindmost measure --resume {e.study} --runs {e.decision.runs}..{2 * max(5, e.decision.runs)}`",
        _too_wide(e) if enough else (),
    )


def _too_wide(e: Evidence) -> tuple[str, ...]:
    from hindmost.stats import mean_interval

    values = {name: [run.values["latency"][name] for run in e.runs] for name in e.plan.labels}
    wide = tuple(n for n, v in values.items() if mean_interval(v).relative_half_width > e.plan.precision)
    return wide or (e.decision.widest,)


def _samples(e: Evidence) -> Iterator[Reason]:
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


def _steady(e: Evidence) -> Iterator[Reason]:
    if e.plan.warmup != "auto":
        return
    never = sum(any(i.result["warmup_ended"] == "never_steady" for i in run.instances) for run in e.runs)
    if never:
        share = never / len(e.runs)
        yield Reason(
            "never_steady",
            "inconclusive" if share > limits.NEVER_STEADY else "mind",
            f"in {never} of {len(e.runs)} runs the latency was still changing when the warm-up had to end",
            "see the time series in the page; a longer warm-up may help: `--warmup 60s`",
        )


def _range(e: Evidence) -> Iterator[Reason]:
    above = sum(one.result["calibration"]["above"] for run in e.runs for one in run.instances)
    done = max(1, sum(run.counts["done"] for run in e.runs))
    if above / done > limits.OUT_OF_RANGE:
        yield Reason(
            "out_of_range",
            "mind",
            f"{above / done:.1%} of latencies lie above the range that the calibration found: the server got"
            " slower after it",
            "a longer `--warmup`, or see the time series in the page",
        )


def _host(e: Evidence) -> Iterator[Reason]:
    steal = [s for run in e.runs for one in run.instances if (s := one.result.get("steal_share")) is not None]
    steal += [s for run in e.runs if (s := run.record.get("server_steal_share")) is not None]
    if steal and max(steal) > limits.STEAL_MIND:
        yield Reason(
            "steal",
            "inconclusive" if max(steal) > limits.STEAL_INCONCLUSIVE else "mind",
            f"the hypervisor took up to {max(steal):.2%} of the time of a processor in use",
            "repeat when the machine is quieter, or on hardware of your own",
        )
    for finding in e.findings:
        if finding["mark"] == "unfit":
            yield Reason(
                "host_unfit",
                "inconclusive",
                f"the host is too noisy: {finding['title']}: {finding['value']}; {finding.get('why') or ''}",
                finding.get("hint") or "`hindmost doctor`",
            )


def _spread(e: Evidence) -> Iterator[Reason]:
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
            f" {_listed([*drifts.values()])}",
            "repeat later; `hindmost doctor` tells what else runs",
            tuple(drifts),
        )


def _method(e: Evidence) -> Iterator[Reason]:
    if not e.target["managed"]:
        yield Reason(
            "attached",
            "mind",
            "the server was not restarted between runs, so hysteresis cannot be seen: intervals show only how"
            " this one start of the server varies",
            "let Hindmost start it: a preset, or a target file (examples/targets)",
        )
    if e.plan.loop == "closed":
        yield Reason(
            "closed_loop",
            "mind",
            "a closed loop waits for replies before it sends, so it understates queueing and the tail",
            "leave out `--closed`",
        )
    if e.plan.pacing == "sleep":
        slips = [run.values["slip"][e.plan.labels[-1]] for run in e.runs]
        middle = [run.values["slip"][e.plan.labels[0]] for run in e.runs]
        yield Reason(
            "sleeping",
            "mind",
            f"clients sleep between due times: that costs {format_us(_mean(middle))} of slip at"
            f" {e.plan.labels[0]} and {format_us(_mean(slips))} at {e.plan.labels[-1]}",
            "fewer `--clients` than processors, so that each can spin",
        )
    if e.owner.owner is not None:
        yield Reason(
            "owner",
            "mind",
            e.owner.text,
            "the per-instance means are the figures to trust, not the merged ones",
        )
    lost = sum(one.result["reconnects"] for run in e.runs for one in run.instances)
    if lost:
        yield Reason(
            "reconnects",
            "mind",
            f"the server closed {lost} connections during the load; each was made anew",
            "let the server keep connections open",
        )


CHECKS: tuple[Callable[[Evidence], Iterator[Reason]], ...] = (
    _late, _arrivals, _busy, _rate, _unanswered, _precision,
    _samples, _steady, _range, _host, _spread, _method,
)  # fmt: skip
"""The registry: a new judgement is a function above and its name here."""


def headline(verdict: Verdict, reasons: Sequence[Reason], figures: str) -> str:
    """One sentence: the outcome, why, what to do, and the figures that can be believed all the same."""
    if verdict == "valid":
        return f"valid: {figures}"
    gravest = reasons[0]
    todo = f". To do: {gravest.hint.replace('`', '')}" if gravest.hint else ""
    good = f". Still good: {figures}" if figures else ""
    return f"{verdict}: {gravest.text}{todo}{good}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
