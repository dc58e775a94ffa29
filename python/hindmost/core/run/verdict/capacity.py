"""Whether the requested rate was reached, and whether every connection got its share of it."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.core.run import limits
from hindmost.core.run.capacity import answered_share, saturation
from hindmost.core.run.text import percent
from hindmost.core.run.verdict.reason import Evidence, Reason
from hindmost.core.store.engine import Shares
from hindmost.stats.tables import chi_square_tail


def rate(e: Evidence) -> Iterator[Reason]:
    """The requested rate was not reached."""
    limit = saturation(e.plan, e.target, e.runs)
    if limit is None:
        return
    share = answered_share(e.plan, e.runs) or 0.0
    hint = {
        "server": f"`{limit.find}` (or with the limit that you need) finds the highest rate that holds",
        "client": f"`--clients {e.plan.clients + 1}`, if a CPU is free for it; or a lower `--rate`",
        "connections": "raise its limit of connections (memcached -c, redis maxclients, nginx"
        " worker_connections, open files), or use fewer `--connections`",
        "silence": "check whether it is stopped: its log, `ps -o stat,cmd -p PID`; then use a lower `--rate`",
    }[limit.by]
    yield Reason(
        "rate-not-reached",
        "invalid" if limit.by == "client" else "inconclusive",
        f"only {percent(share, 3)} of the requested {limit.requested_per_s:,.0f} requests/s were sent and"
        f" answered in time; {limit.text}",
        hint,
        origin="client" if limit.by == "client" else "server",
        brief=f"{percent(share, 3)} of the requested rate was answered in time",
        values={"share": share, **limit.values()},
    )


def shares(e: Evidence) -> Iterator[Reason]:
    """Requests were not spread evenly over connections."""
    if e.plan.loop == "closed":
        return
    results = [
        (shares, p)
        for run in e.runs
        for client in run.clients
        if not (run.counts.unsent or client.result.reconnects)
        for thread in client.result.threads
        if (shares := thread.shares) and (p := _chance(shares)) is not None
    ]
    if not results:
        return
    worst, p = min(results, key=lambda result: result[1])
    if p < limits.SHARES_CHANCE / len(results):
        yield Reason(
            "uneven-connections",
            "note",
            f"requests were not spread evenly over the {worst.connections} connections of a worker:"
            " each got"
            f" {worst.least} to {worst.most} (chi-square {worst.chi_square:.0f}, p = {p:.1g})",
            "this is a bug in Hindmost: please report it with the study's manifest.json",
            values={
                "connections": worst.connections,
                "least": worst.least,
                "most": worst.most,
                "p": p,
            },
        )


def _chance(shares: Shares) -> float | None:
    """Return the probability of shares at least as uneven as these."""
    if shares.chi_square is None or shares.connections < 2:
        return None
    return chi_square_tail(shares.chi_square, shares.connections - 1)
