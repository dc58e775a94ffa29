"""The instrument's self-diagnosis: what it looked at of itself, beside the limits that it judges by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from hindmost.plan import MeasurePlan
from hindmost.run import instrument, limits
from hindmost.run.figures import RunFigures
from hindmost.run.verdict import Reason
from hindmost.store import measure as documents

Limit = float | Callable[[float], float] | None
"""A number, or a function of the share of requests that lie beyond the highest quantile asked for."""


def _of_tail(times: float) -> Callable[[float], float]:
    return lambda beyond: times * beyond


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its name in JSON and in words, where it comes from, its limits, the reason it becomes."""

    id: str
    title: str
    unit: Literal["share", "per_s", "count", "us"]
    figure: instrument.Figure
    code: str | None = None
    mind: Limit = None
    grave: Limit = None
    worst: bool = False
    """The worst run counts, not the mean over runs."""


ROWS = (
    Row(
        "working",
        "sending and receiving, the busiest client",
        "share",
        instrument.busy_share,
        "client-busy",
        limits.BUSY_MIND,
        limits.BUSY_INVALID,
    ),
    Row("own_slip", "slip at p99 beyond what its write calls alone would make", "us", instrument.own_slip),
    Row(
        "late_writing",
        "left over 5 us late while others were handed to the kernel",
        "share",
        partial(instrument.late_share, stage="writing"),
    ),
    Row(
        "late_reading",
        "left over 5 us late while replies were taken",
        "share",
        partial(instrument.late_share, stage="reading"),
    ),
    Row(
        "late_waiting",
        "left over 5 us late while its processor was away or it slept",
        "share",
        partial(instrument.late_share, stage="waiting"),
    ),
    Row("on_cpu", "on its processor, spinning included", "share", instrument.cpu_share),
    Row(
        "waiting",
        "waiting for its processor, which others had",
        "share",
        instrument.wait_share,
        "run-delay",
        _of_tail(limits.TAIL_MIND),
        _of_tail(limits.TAIL_INCONCLUSIVE),
    ),
    Row(
        "switches",
        "taken off its processor",
        "per_s",
        instrument.switches_per_s,
        "context-switches",
        limits.SWITCHES_MIND,
    ),
    Row(
        "stolen",
        "stolen by the hypervisor",
        "share",
        instrument.steal_share,
        "steal-time",
        limits.STEAL_MIND,
        limits.STEAL_INCONCLUSIVE,
        worst=True,
    ),
    Row(
        "throttled",
        "periods of its CPU quota that ended in a stop",
        "share",
        instrument.throttled_share,
        "throttled",
        limits.THROTTLED_MIND,
        limits.THROTTLED_INCONCLUSIVE,
    ),
    Row(
        "interrupts",
        "interrupts on a client's processor",
        "per_s",
        instrument.interrupts_per_s,
        "interrupts",
        limits.INTERRUPTS_MIND,
    ),
    Row(
        "retransmitted",
        "segments sent again, per request",
        "share",
        instrument.retransmits_per_request,
        "retransmissions",
        0.0,
        _of_tail(limits.TAIL_INCONCLUSIVE),
    ),
    Row(
        "dropped",
        "connections dropped by a full accept queue",
        "count",
        lambda run: instrument.drops(run) + instrument.drops_before(run),
        "dropped-connections",
        limits.DROPS_MIND,
        worst=True,
    ),
    Row(
        "blocked",
        "requests that waited for room in the send buffer",
        "share",
        instrument.blocked_share,
        "server-reads-slowly",
        limits.BLOCKED_MIND,
    ),
    Row(
        "peer_full",
        "the server's receive buffer full",
        "share",
        instrument.peer_full,
        "server-reads-slowly",
        limits.PEER_FULL_MIND,
    ),
    Row(
        "receive_fill",
        "a client's receive buffer, at its fullest",
        "share",
        instrument.receive_fill,
        "client-reads-slowly",
        limits.RECEIVE_FILL_MIND,
    ),
)


def self_diagnosis(
    plan: MeasurePlan, runs: Sequence[RunFigures], reasons: Sequence[Reason]
) -> documents.Instrument:
    """The figures with their limits and marks, and who and what ran on the clients' processors.

    Parameters
    ----------
    plan : MeasurePlan
        Its highest quantile sets the limits of accidents that reach single requests.
    runs : sequence of RunFigures
        What was measured.
    reasons : sequence of Reason
        What the verdict found: only what it found is marked.
    """
    beyond = 1.0 - max(plan.quantiles)
    levels = {reason.code: reason.level for reason in reasons}
    return {
        "figures": [_figure(row, runs, beyond, levels) for row in ROWS],
        "neighbours": [
            {
                "name": one.name,
                "pid": one.pid,
                "share": one.share,
                "turns_per_s": one.turns_per_s,
                "bound": one.bound,
                "kernel": one.kernel,
            }
            for one in instrument.list_neighbours(runs)[:8]
        ],
        "interrupts": [
            {"source": name, "per_s": often} for name, often in instrument.interrupt_sources(runs)[:8]
        ],
    }


def _figure(
    row: Row, runs: Sequence[RunFigures], beyond: float, levels: Mapping[str, str]
) -> documents.Figure:
    known = [value for run in runs if (value := row.figure(run)) is not None]
    value = (max(known) if row.worst else sum(known) / len(known)) if known else None
    mind, grave = (limit(beyond) if callable(limit) else limit for limit in (row.mind, row.grave))
    level = levels.get(row.code or "")
    passed = value is not None and mind is not None and value > mind
    return {
        "id": row.id,
        "title": row.title,
        "value": value,
        "unit": row.unit,
        "mind_above": mind,
        "grave_above": grave,
        "mark": "fine" if level is None or not passed else "mind" if level == "note" else "unfit",
    }
