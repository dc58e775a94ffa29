"""What a trace does to the server: the overhead of its probes, and interference from its reader."""

from __future__ import annotations

from hindmost.core.notes import Note
from hindmost.core.tracing.advice import LEAST_SHARE, is_ours, share_of
from hindmost.core.tracing.document import Trace
from hindmost.core.tracing.windows import probes_share

MOST_COST = 0.05
"""Overhead of the probes per request, as a share of the server's CPU time, above which it is reported."""


def effect_notes(trace: Trace) -> list[Note]:
    """Report the effects of a trace on the server, unless they are small."""
    notes: list[Note] = []
    attached = probes_share(trace)
    if attached is not None and trace.service is not None:
        # The probes are attached only during windows.
        share = attached * min(1.0, trace.cost.attached_ns / 1e9 / trace.lasted_s)
        request_us = trace.service.mean_us
        probes_us = share * request_us
        if share > MOST_COST:
            notes.append(
                Note(
                    "probe-overhead",
                    f"Per request, the probes used {probes_us:.2g} µs of CPU time and the server"
                    f" {request_us:.3g} µs. The first includes the probes' work for other traffic of"
                    " this host and for the client's packets, so at most that much was added to the server."
                    " --windows 16 traces a sixteenth of the time.",
                    {"probes_us": probes_us, "request_us": request_us, "share": share},
                )
            )
    culprits = [] if trace.who is None else trace.who.culprits
    shares = [share_of(one) for one in culprits if is_ours(one.who)]
    if shares and sum(shares) >= LEAST_SHARE:
        notes.append(
            Note(
                "trace-interference",
                f"The trace itself causes {sum(shares):.0%} of the variance: its reader used the CPU that"
                " requests waited for. Run it on another CPU (taskset -c CPU hindmost trace ...), or follow"
                " fewer connections.",
                {"share": sum(shares)},
            )
        )
    return notes
