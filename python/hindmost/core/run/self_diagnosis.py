"""The instrument's self-diagnosis: its own figures next to the limits that the verdict uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from hindmost.core.plan import MeasurePlan
from hindmost.core.run import instrument, limits
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.verdict import Reason
from hindmost.core.store import measure as documents

Limit = float | Callable[[float], float] | None
"""A number, or a function of the share of requests above the highest requested quantile."""


def _of_tail(times: float) -> Callable[[float], float]:
    return lambda beyond: times * beyond


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its JSON name, title, unit and source, the message code it leads to, and its limits."""

    id: str
    title: str
    unit: Literal["share", "per_s", "count", "us"]
    figure: instrument.Figure
    code: str | None = None
    note: Limit = None
    grave: Limit = None
    worst: bool = False
    """Use the worst run instead of the mean over runs."""


ROWS = (
    Row(
        "working",
        "time spent sending and receiving, busiest client",
        "share",
        instrument.busy_share,
        "client-busy",
        limits.BUSY_MIND,
        limits.BUSY_INVALID,
    ),
    Row(
        "own_send_delay",
        "send delay at p99 beyond that of its write calls alone",
        "us",
        instrument.own_send_delay,
    ),
    Row(
        "late_writing",
        "sent over 5 µs late while writing other requests",
        "share",
        partial(instrument.late_share, stage="writing"),
    ),
    Row(
        "late_reading",
        "sent over 5 µs late while reading replies",
        "share",
        partial(instrument.late_share, stage="reading"),
    ),
    Row(
        "late_waiting",
        "sent over 5 µs late while preempted or asleep",
        "share",
        partial(instrument.late_share, stage="waiting"),
    ),
    Row("on_cpu", "time on its CPU, spinning included", "share", instrument.cpu_share),
    Row(
        "waiting",
        "time waiting for its CPU while others used it",
        "share",
        instrument.wait_share,
        "run-delay",
        _of_tail(limits.TAIL_MIND),
        _of_tail(limits.TAIL_INCONCLUSIVE),
    ),
    Row(
        "switches",
        "preemptions",
        "per_s",
        instrument.switches_per_s,
        "context-switches",
        limits.SWITCHES_MIND,
    ),
    Row(
        "stolen",
        "steal time (hypervisor)",
        "share",
        instrument.steal_share,
        "steal-time",
        limits.STEAL_MIND,
        limits.STEAL_INCONCLUSIVE,
        worst=True,
    ),
    Row(
        "throttled",
        "CPU quota periods with throttling",
        "share",
        instrument.throttled_share,
        "throttled",
        limits.THROTTLED_MIND,
        limits.THROTTLED_INCONCLUSIVE,
    ),
    Row(
        "interrupts",
        "interrupts on a client's CPU",
        "per_s",
        instrument.interrupts_per_s,
        "interrupts",
        limits.INTERRUPTS_MIND,
    ),
    Row(
        "retransmitted",
        "retransmitted segments per request",
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
        "requests that waited for send buffer space",
        "share",
        instrument.blocked_share,
        "server-reads-slowly",
        limits.BLOCKED_MIND,
    ),
    Row(
        "peer_full",
        "time with the server's receive buffer full",
        "share",
        instrument.peer_full,
        "server-reads-slowly",
        limits.PEER_FULL_MIND,
    ),
    Row(
        "receive_fill",
        "highest fill of a client's receive buffer",
        "share",
        instrument.receive_fill,
        "client-reads-slowly",
        limits.RECEIVE_FILL_MIND,
    ),
)


def self_diagnosis(
    plan: MeasurePlan, runs: Sequence[RunFigures], reasons: Sequence[Reason]
) -> documents.Instrument:
    """Return the figures with limits and marks, and what ran on the clients' CPUs.

    Parameters
    ----------
    plan : MeasurePlan
        Its highest quantile sets the limits of events that hit single requests.
    runs : sequence of RunFigures
        The measured runs.
    reasons : sequence of Reason
        The reasons of the verdict: a figure is marked only if the verdict has its reason.
    """
    beyond = 1.0 - max(plan.quantiles)
    levels = {reason.code: reason.level for reason in reasons}
    return documents.Instrument(
        figures=[_figure(row, runs, beyond, levels) for row in ROWS],
        neighbours=[
            documents.Neighbour(
                name=neighbour.name,
                pid=neighbour.pid,
                share=neighbour.share,
                turns_per_s=neighbour.turns_per_s,
                bound=neighbour.bound,
                kernel=neighbour.kernel,
            )
            for neighbour in instrument.list_neighbours(runs)[:8]
        ],
        interrupts=[
            documents.InterruptSource(source=name, per_s=per_s)
            for name, per_s in instrument.interrupt_sources(runs)[:8]
        ],
    )


def _figure(
    row: Row, runs: Sequence[RunFigures], beyond: float, levels: Mapping[str, str]
) -> documents.Figure:
    values = [value for run in runs if (value := row.figure(run)) is not None]
    value = (max(values) if row.worst else sum(values) / len(values)) if values else None
    note, grave = (limit(beyond) if callable(limit) else limit for limit in (row.note, row.grave))
    level = levels.get(row.code or "")
    exceeds = value is not None and note is not None and value > note
    return documents.Figure(
        id=row.id,
        title=row.title,
        value=value,
        unit=row.unit,
        note_above=note,
        grave_above=grave,
        mark="fine" if level is None or not exceeds else "note" if level == "note" else "unfit",
    )
