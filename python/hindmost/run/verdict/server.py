"""Whether the server answered, and in a steady state."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.run import limits
from hindmost.run.connections import codes, failed, lost
from hindmost.run.standstill import standstills
from hindmost.run.verdict.reason import STOOD_STILL, Evidence, Reason, listed

NAMED = 3
"""So many standstills are named in a sentence."""


def unanswered(e: Evidence) -> Iterator[Reason]:
    """Requests without an answer, with an error, or for what was not there."""
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
            f"{listed(reached)} reach{'es' if len(reached) == 1 else ''} them"
            if reached
            else "no asked quantile reaches them"
        )
        yield Reason(
            "infinitely_late",
            "mind",
            f"{totals['timeouts']} requests timed out after {e.plan.timeout_s:g} s and {totals['unsent']}"
            f" could not be sent ({late / due:.2%}): they count as infinitely late; {which}",
            "a lower `--rate`, or see the server's log",
            brief=f"{late / due:.2%} of requests are infinitely late",
        )
    errors = totals["errors"] / due
    if errors > limits.ERROR_MIND:
        said = next(
            (m for run in e.runs for one in run.instances if (m := one.result.get("first_error"))), None
        )
        which = failed(codes(e.runs), lost(e.runs))
        yield Reason(
            "errors",
            "inconclusive" if errors > limits.ERROR_INCONCLUSIVE else "mind",
            f"{totals['errors']} requests ({errors:.2%}) failed"
            + (f": {which}" if which else "")
            + (f"; the server said {said!r}" if said else ""),
            _about_errors(e),
        )
    misses = totals["misses"] / max(1, totals["done"])
    if misses > limits.MISS_MIND:
        yield _missed(e, misses)


def _about_errors(e: Evidence) -> str:
    """What to do about them; a redirection may be what was wanted."""
    hint = "see the server's log; errors have no latency, so the rest may look too good"
    moved = [code for code, one in codes(e.runs).items() if one["outcome"] == "error" and code[0] == "3"]
    if moved:
        return f"name the page that it redirects to, or count it as a success: `--accept 2xx,{moved[0]}`"
    return hint


def _missed(e: Evidence, share: float) -> Reason:
    """Keys that the server no longer has, or pages that it never had."""
    if found := [code for code, one in codes(e.runs).items() if one["outcome"] == "miss"]:
        which = " or ".join(found)
        if not which[0].isdigit():
            return Reason(
                "misses",
                "mind",
                f"{share:.1%} of requests were answered with {which}: there is no such thing",
                "ask for what exists: see the workload",
            )
        return Reason(
            "misses",
            "mind",
            f"{share:.1%} of requests were answered with {which}: there is no such page",
            f"name pages that exist; or count it as a success: `--accept 2xx,{found[0]}`",
        )
    return Reason(
        "misses",
        "mind",
        f"{share:.1%} of requests missed, though every key was stored before: the server forgets or evicts",
        "give the server more memory, or the workload fewer keys",
    )


def stood_still(e: Evidence) -> Iterator[Reason]:
    """A server that answered nobody for a while, and then everybody."""
    found = [one for run in e.runs for one in standstills(run, e.plan)]
    if not found:
        return
    told = sorted(sorted(found, key=lambda one: one.for_s, reverse=True)[:NAMED], key=lambda one: one.run)
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    yield Reason(
        STOOD_STILL,
        "mind",
        f"{'; '.join(one.text for one in told)}{more}; no reply came to any connection meanwhile, and the"
        " client was there",
        "the server's log at that time: a collection of garbage, a snapshot, a lock, a disk",
    )


def steady(e: Evidence) -> Iterator[Reason]:
    """The latency had not settled when the warm-up had to end."""
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
            brief=f"the latency did not settle in {never} of {len(e.runs)} runs",
        )


def out_of_range(e: Evidence) -> Iterator[Reason]:
    """The latency left the range that the calibration found."""
    above = sum(one.result["calibration"]["above"] for run in e.runs for one in run.instances)
    due = max(1, sum(run.counts["due"] for run in e.runs))
    if above / due > limits.OUT_OF_RANGE:
        yield Reason(
            "out_of_range",
            "mind",
            f"{above / due:.1%} of latencies lie above the range that the calibration found: the server got"
            " slower after it",
            "a longer `--warmup`, or see the time series in the page",
            brief=f"{above / due:.1%} of latencies lie above the calibrated range",
        )
