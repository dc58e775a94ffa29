"""Whether the server answered, and in a steady state."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.run import limits
from hindmost.run.connections import codes, connections, count_lost, describe_errors
from hindmost.run.standstill import standstills
from hindmost.run.text import listed, percent
from hindmost.run.verdict.reason import SERVER_STALLED, Evidence, Reason
from hindmost.targets.probe.complaints import hint_about

NAMED = 3
"""At most so many stalls are named in a sentence."""


def unanswered(e: Evidence) -> Iterator[Reason]:
    """Requests without an answer, with an error, or for something that the server does not have."""
    totals = {
        name: sum(run.counts[name] for run in e.runs)
        for name in ("due", "timeouts", "unsent", "errors", "misses", "done")
    }
    due = max(1, totals["due"])
    late = totals["timeouts"] + totals["unsent"]
    if late:
        reached = [n for n in e.plan.labels if any(math.isinf(run.values["latency"][n]) for run in e.runs)]
        which = f"{listed(reached)} included" if reached else "no requested percentile includes them"
        yield Reason(
            "unanswered",
            "note",
            f"{percent(late / due)} of requests have infinite latency: {totals['timeouts']} timed out after"
            f" {e.plan.timeout_s:g} s and {totals['unsent']} could not be sent; {which}",
            "use a lower `--rate`, or see the server's log"
            + ("; some servers lose pipelined requests: try `--in-flight 1`" if _pipelines(e) else ""),
            brief=f"{percent(late / due)} of requests have infinite latency",
            values={
                "timeouts": totals["timeouts"],
                "unsent": totals["unsent"],
                "share": late / due,
                "timeout_s": e.plan.timeout_s,
                "infinite": reached,
            },
        )
    errors = totals["errors"] / due
    if errors > limits.ERROR_MIND:
        said = next(
            (m for run in e.runs for one in run.instances if (m := one.result.get("first_error"))), None
        )
        found, broken = codes(e.runs), count_lost(e.runs)
        which = describe_errors(found, broken)
        yield Reason(
            "errors",
            "inconclusive" if errors > limits.ERROR_INCONCLUSIVE else "note",
            f"{totals['errors']} requests ({percent(errors)}) failed"
            + (f": {which}" if which else "")
            + (f"{',' if which else ':'} the server said {_quoted(said)}" if said else ""),
            _about_errors(e, said or ""),
            values={
                "errors": totals["errors"],
                "share": errors,
                "codes": {code: one["count"] for code, one in found.items() if one["outcome"] == "error"},
                "lost": broken,
                "first_error": said,
            },
        )
    misses = totals["misses"] / max(1, totals["done"])
    if misses > limits.MISS_MIND:
        yield _missed(e, misses)


def _about_errors(e: Evidence, said: str) -> str:
    """What to do about them; a redirection may be what was wanted."""
    found = [code for code, one in codes(e.runs).items() if one["outcome"] == "error"]
    if moved := [code for code in found if code[0] == "3"]:
        return f"request the page that it redirects to, or count it as a success: `--accept 2xx,{moved[0]}`"
    return hint_about(said) or "see the server's log; errors have no latency, so the rest may look too good"


def _quoted(words: str) -> str:
    """Words of the server, in one clause of a sentence."""
    return repr(words.replace("; ", ", "))


def unreadable(e: Evidence) -> Iterator[Reason]:
    """Bytes that are no reply, or that no request had asked for."""
    found = [told for run in e.runs for one in run.instances if (told := one.result.get("unreadable"))]
    count = sum(one["count"] for one in found)
    if not count:
        return
    first = next((one["first"] for one in found if one["first"]), "")
    yield Reason(
        "unreadable-replies",
        "note",
        f"{count} times the server sent what is no reply, or what no request had asked for, first"
        f" {_quoted(first)}; the client closed the connection and made another",
        _about_errors(e, first),
        values={"count": count, "first": first},
    )


def _pipelines(e: Evidence) -> bool:
    """Whether requests that time out may be those behind another on a connection of HTTP/1.1."""
    found = connections(e.runs)
    by_turns = e.plan.carried or (found is not None and found["by_turns"])
    timeouts = any(run.counts["timeouts"] for run in e.runs)
    return timeouts and e.target.get("protocol") == "http" and e.plan.in_flight != 1 and not by_turns


def _missed(e: Evidence, share: float) -> Reason:
    """Keys that the server no longer has, or pages that it never had."""
    found = [code for code, one in codes(e.runs).items() if one["outcome"] == "miss"]
    values = {"share": share, "codes": found}
    if not found:
        text = f"{percent(share)} of requests missed, although every key was stored before: the server evicts"
        return Reason(
            "misses", "note", text, "give the server more memory, or the workload fewer keys", values=values
        )
    text = f"{percent(share)} of requests got {' or '.join(found)}: what they request does not exist"
    if not found[0][0].isdigit():
        hint = "request what exists: see the workload"
    else:
        hint = f"request pages that exist; or count it as a success: `--accept 2xx,{found[0]}`"
    return Reason("misses", "note", text, hint, values=values)


def stood_still(e: Evidence) -> Iterator[Reason]:
    """A server that answered no connection for a while, then all of them."""
    found = [one for run in e.runs for one in standstills(run, e.plan)]
    if not found:
        return
    told = sorted(sorted(found, key=lambda one: one.for_s, reverse=True)[:NAMED], key=lambda one: one.run)
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    yield Reason(
        SERVER_STALLED,
        "note",
        f"{'; '.join(one.text for one in told)}{more}. No connection got a reply meanwhile, and the"
        " client was running",
        "see the server's log at that time: garbage collection, a snapshot, a lock, a disk",
        brief="; ".join(one.text for one in told) + more,
        values={
            "stalls": [
                {"run": one.run, "from_s": one.from_s, "for_s": one.for_s, "requests": one.waited}
                for one in found
            ]
        },
    )


def steady(e: Evidence) -> Iterator[Reason]:
    """Latency had not settled when the warm-up had to end."""
    if e.plan.warmup != "auto":
        return
    never = sum(any(i.result["warmup_ended"] == "never_steady" for i in run.instances) for run in e.runs)
    if never:
        share = never / len(e.runs)
        yield Reason(
            "not-steady",
            "inconclusive" if share > limits.NEVER_STEADY else "note",
            f"latency was still changing in {never} of {len(e.runs)} runs when the warm-up had to end",
            "see the time series in the page; a longer warm-up may help: `--warmup 60s`",
            brief=f"latency did not settle in {never} of {len(e.runs)} runs",
            values={"runs": never, "of": len(e.runs)},
        )


def out_of_range(e: Evidence) -> Iterator[Reason]:
    """Latencies exceed the range that the calibration found."""
    above = sum(one.result["calibration"]["above"] for run in e.runs for one in run.instances)
    due = max(1, sum(run.counts["due"] for run in e.runs))
    if above / due > limits.OUT_OF_RANGE:
        yield Reason(
            "above-calibration",
            "note",
            f"{percent(above / due)} of latencies exceed the calibrated range: the server became slower after"
            " the calibration",
            "use a longer `--warmup`, or see the time series in the page",
            brief=f"{percent(above / due)} of latencies exceed the calibrated range",
            values={"share": above / due},
        )
