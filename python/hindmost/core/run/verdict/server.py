"""Whether the server answered, and in a steady state."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.core.run import limits
from hindmost.core.run.connections import codes, connections, count_lost, describe_errors
from hindmost.core.run.messages import EMPTY_HINT, messages
from hindmost.core.run.sessions import LONGER, sessions
from hindmost.core.run.standstill import standstills
from hindmost.core.run.text import join_names, percent
from hindmost.core.run.verdict.reason import SERVER_STALLED, Evidence, Reason
from hindmost.core.targets.probe.complaints import hint_about

NAMED = 3
"""Most stalls named in a sentence."""


def missing_replies(e: Evidence) -> Iterator[Reason]:
    """Requests got no reply, an error, or a miss."""
    totals = {
        name: sum(getattr(run.counts, name) for run in e.runs)
        for name in ("scheduled", "timeouts", "unsent", "errors", "misses", "completed")
    }
    scheduled = max(1, totals["scheduled"])
    late = totals["timeouts"] + totals["unsent"]
    if late:
        infinite = [n for n in e.plan.labels if any(math.isinf(run.values["latency"][n]) for run in e.runs)]
        which = f"{join_names(infinite)} included" if infinite else "no requested percentile includes them"
        yield Reason(
            "unanswered",
            "note",
            f"{percent(late / scheduled)} of requests have infinite latency: {totals['timeouts']} timed"
            " out after"
            f" {e.plan.timeout_s:g} s and {totals['unsent']} could not be sent; {which}",
            "use a lower `--rate`, or see the server's log"
            + ("; some servers lose pipelined requests: try `--in-flight 1`" if _pipelines(e) else ""),
            brief=f"{percent(late / scheduled)} of requests have infinite latency",
            values={
                "timeouts": totals["timeouts"],
                "unsent": totals["unsent"],
                "share": late / scheduled,
                "timeout_s": e.plan.timeout_s,
                "infinite": infinite,
            },
        )
    errors = totals["errors"] / scheduled
    if errors > limits.ERROR_MIND:
        message = next(
            (m for run in e.runs for client in run.clients if (m := client.result.first_error)), None
        )
        counts, broken = codes(e.runs), count_lost(e.runs)
        details = describe_errors(counts, broken)
        yield Reason(
            "errors",
            "inconclusive" if errors > limits.ERROR_INCONCLUSIVE else "note",
            f"{totals['errors']} requests ({percent(errors)}) failed"
            + (f": {details}" if details else "")
            + (f"{',' if details else ':'} the server said {_quote(message)}" if message else ""),
            _about_errors(e, message or ""),
            values={
                "errors": totals["errors"],
                "share": errors,
                "codes": {
                    code: counted.count for code, counted in counts.items() if counted.outcome == "error"
                },
                "lost": broken,
                "first_error": message,
            },
        )
    misses = totals["misses"] / max(1, totals["completed"])
    if misses > limits.MISS_MIND:
        yield _misses(e, misses)


def _about_errors(e: Evidence, message: str) -> str:
    """Return a hint about these errors; a redirection may be intended."""
    failed_codes = [code for code, counted in codes(e.runs).items() if counted.outcome == "error"]
    if any(code.startswith("check failed: ") for code in failed_codes):
        return "compare the check with a reply, such as that of `curl -i`"
    if moved := [code for code in failed_codes if code[0] == "3"]:
        return (
            "request the page that it redirects to, follow it (`--follow 5`), or count it as a success:"
            f" `--accept 2xx,{moved[0]}`"
        )
    return (
        hint_about(message) or "see the server's log; errors have no latency, so the rest may look too good"
    )


def _quote(text: str) -> str:
    """Quote the server's message as one clause of a sentence."""
    return repr(text.replace("; ", ", "))


def unreadable_replies(e: Evidence) -> Iterator[Reason]:
    """The server sent bytes that are not a reply, or that no request had asked for."""
    reports = [report for run in e.runs for one in run.clients if (report := one.result.unreadable)]
    count = sum(report.count for report in reports)
    if not count:
        return
    first = next((report.first for report in reports if report.first), "")
    yield Reason(
        "unreadable-replies",
        "note",
        f"the server sent {count} times something that is not a reply, or that no request had asked for,"
        f" first {_quote(first)}; the client closed the connection and opened another",
        _about_errors(e, first),
        values={"count": count, "first": first},
    )


def empty_replies(e: Evidence) -> Iterator[Reason]:
    """Replies had no message, although their messages are measured."""
    found = messages(e.runs)
    if found is None or not found.empty:
        return
    share = found.empty / (found.empty + found.replies)
    yield Reason(
        "empty-replies",
        "note",
        f"{percent(share)} of the replies had no message: the times of messages leave them out",
        EMPTY_HINT,
        values={"count": found.empty, "share": share},
    )


def cut_sessions(e: Evidence) -> Iterator[Reason]:
    """The end of the measurement cut sessions off, so that their durations are unknown."""
    found = sessions(e.runs)
    if found is None or not found.cut_off or found.cut_off <= limits.CUT_SESSIONS * found.begun:
        return
    share = found.cut_off / found.begun
    yield Reason(
        "cut-sessions",
        "note",
        f"the end of the measurement cut off {percent(share)} of the sessions: they count as infinitely long",
        LONGER,
        values={"count": found.cut_off, "share": share},
    )


def _pipelines(e: Evidence) -> bool:
    """Whether requests that time out may be queued behind others on an HTTP/1.1 connection."""
    account = connections(e.runs)
    by_turns = e.plan.connection_lifetime or e.plan.stream or (account is not None and account.by_turns)
    timeouts = any(run.counts.timeouts for run in e.runs)
    return timeouts and e.target.protocol == "http" and e.plan.in_flight != 1 and not by_turns


def _misses(e: Evidence, share: float) -> Reason:
    """Return the reason for misses: keys that the server evicted, or pages that do not exist."""
    missed_codes = [code for code, counted in codes(e.runs).items() if counted.outcome == "miss"]
    values = {"share": share, "codes": missed_codes}
    if not missed_codes:
        text = f"{percent(share)} of requests missed, although every key was stored before: the server evicts"
        return Reason(
            "misses", "note", text, "give the server more memory, or the workload fewer keys", values=values
        )
    text = f"{percent(share)} of requests got {' or '.join(missed_codes)}: what they request does not exist"
    if not missed_codes[0][0].isdigit():
        hint = "request what exists: see the workload"
    else:
        hint = f"request pages that exist; or count it as a success: `--accept 2xx,{missed_codes[0]}`"
    return Reason("misses", "note", text, hint, values=values)


def stalls(e: Evidence) -> Iterator[Reason]:
    """The server answered no connection for a while, then all of them."""
    all_stalls = [stall for run in e.runs for stall in standstills(run, e.plan)]
    if not all_stalls:
        return
    longest = sorted(all_stalls, key=lambda stall: stall.for_s, reverse=True)[:NAMED]
    longest.sort(key=lambda stall: stall.run)
    more = f"; and {len(all_stalls) - NAMED} more" if len(all_stalls) > NAMED else ""
    text = "; ".join(stall.text for stall in longest) + more
    yield Reason(
        SERVER_STALLED,
        "note",
        f"{text}. No connection got a reply meanwhile, and the client was running",
        "see the server's log at that time: garbage collection, a snapshot, a lock, a disk",
        brief=text,
        values={
            "stalls": [
                {"run": stall.run, "from_s": stall.from_s, "for_s": stall.for_s, "requests": stall.waited}
                for stall in all_stalls
            ]
        },
    )


def warmup(e: Evidence) -> Iterator[Reason]:
    """Latency had not settled when the warm-up reached its limit."""
    if e.plan.warmup != "auto":
        return
    unsteady = sum(any(i.result.warmup_ended == "never_steady" for i in run.clients) for run in e.runs)
    if unsteady:
        share = unsteady / len(e.runs)
        yield Reason(
            "not-steady",
            "inconclusive" if share > limits.NEVER_STEADY else "note",
            f"latency was still changing in {unsteady} of {len(e.runs)} runs at the warm-up's time limit",
            "see the time series in the page; a longer warm-up may help: `--warmup 60s`",
            brief=f"latency did not settle in {unsteady} of {len(e.runs)} runs",
            values={"runs": unsteady, "of": len(e.runs)},
        )


def out_of_range(e: Evidence) -> Iterator[Reason]:
    """Latencies exceed the range that the calibration found."""
    above = sum(client.result.calibration.above for run in e.runs for client in run.clients)
    scheduled = max(1, sum(run.counts.scheduled for run in e.runs))
    if above / scheduled > limits.OUT_OF_RANGE:
        yield Reason(
            "above-calibration",
            "note",
            f"{percent(above / scheduled)} of latencies exceed the calibrated range: the server became"
            " slower after"
            " the calibration",
            "use a longer `--warmup`, or see the time series in the page",
            brief=f"{percent(above / scheduled)} of latencies exceed the calibrated range",
            values={"share": above / scheduled},
        )
