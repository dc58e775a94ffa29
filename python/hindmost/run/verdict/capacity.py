"""Whether the asked rate was carried, and whether every connection carried its share of it."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.run import limits
from hindmost.run.capacity import answered_share, saturation
from hindmost.run.verdict.reason import Evidence, Reason
from hindmost.stats.tables import chi_square_tail
from hindmost.store.engine import Shares


def rate(e: Evidence) -> Iterator[Reason]:
    """The rate asked for was not reached."""
    found = saturation(e.plan, e.target, e.runs)
    if found is None:
        return
    share = answered_share(e.plan, e.runs)
    hint = {
        "server": f"`{found.find}` (or with the limit that you need) finds the highest rate that holds",
        "client": f"`--clients {e.plan.clients + 1}`, if there is a processor for it; or a lower `--rate`",
        "connections": "its limit of connections: memcached -c, redis maxclients, nginx worker_connections,"
        " its open files; or fewer `--connections`",
        "silence": "is it stopped? see its log and `ps -o stat,cmd -p PID`; then a lower `--rate`",
    }[found.by]
    yield Reason(
        "rate_unmet",
        "invalid" if found.by == "client" else "inconclusive",
        f"{found.asked_per_s:.0f} requests a second were asked, {share:.1%} of them were sent and answered in"
        f" time; {found.text}",
        hint,
        origin="client" if found.by == "client" else "server",
        brief=f"{share:.1%} of the requests asked for were answered in time",
    )


def shares(e: Evidence) -> Iterator[Reason]:
    """Requests did not fall evenly on connections."""
    if e.plan.loop == "closed":
        return
    found = [
        (shares, p)
        for run in e.runs
        for one in run.instances
        if not (run.counts["unsent"] or one.result["reconnects"])
        for thread in one.result["threads"]
        if (shares := thread.get("shares")) and (p := _chance(shares)) is not None
    ]
    if not found:
        return
    worst, p = min(found, key=lambda one: one[1])
    if p < limits.SHARES_CHANCE / len(found):
        yield Reason(
            "shares",
            "mind",
            f"requests did not fall evenly on the {worst['connections']} connections of a worker: between"
            f" {worst['least']} and {worst['most']} each (chi-square {worst['chi_square']:.0f}, p = {p:.1g})",
            "this is a bug of Hindmost: please report it with the study's manifest.json",
        )


def _chance(shares: Shares) -> float | None:
    """Probability of shares as uneven as these."""
    if shares["chi_square"] is None or shares["connections"] < 2:
        return None
    return chi_square_tail(shares["chi_square"], shares["connections"] - 1)
