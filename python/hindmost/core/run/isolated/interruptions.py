"""When others used a CPU of the server or of a client, as far as the run could observe it.

Two sources, each with its own shortest visible interruption:

- A **spinning client** finds spans in its own loop in which it did nothing and that are longer than 20 us
  (``away`` in its result). It must have its CPU to itself: if the server may run there too, a span may be the
  server's own work.
- The **sentinel** (`hindmost.core.run.companions.sentinel`) wakes every millisecond on each CPU of the
  server. An interruption began between its last sign of life and a late wake-up. All of that span counts as
  interference: requests in flight at its start are ignored, which costs requests but adds no bias.
  Without real-time priority the sentinel also waits behind other programs, including the server. The length
  of these waits is known and subtracted from its lateness; whether they were interference is not.
  ``doubted`` includes them.

Neither source sees interrupts of a few microseconds, the server's own threads, or a quota on its cgroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from hindmost.core.plan import MeasurePlan
from hindmost.core.run.isolated.refusal import Refusal
from hindmost.core.run.sharing import apart
from hindmost.core.store.engine import ClientResult, Watched
from hindmost.core.store.manifest import Fault, RunRecord
from hindmost.stats import Interruptions


@dataclass(frozen=True, slots=True)
class Interference:
    """Observed interference of one run.

    ``interruptions``: interruptions in ns since the measurement began, as wide as they may have been.
    ``taken``: share of the measurement, from the likeliest start of each. ``from_server``: share of the
    server's CPUs alone, from how late the sentinel woke (a lower bound). ``by_sentinel``: share of the total
    time of the server's CPUs that the sentinel saw used, from the likeliest start of each. ``sources``: what
    observed it. ``alike_ns``: interruptions at least this long are seen whatever a client does at the time.
    ``doubted``: all possible interruptions, if some are uncertain; ``unsure``: the share of the measurement
    they add.
    """

    interruptions: Interruptions
    taken: float
    from_server: float
    by_sentinel: float
    sources: tuple[str, ...]
    alike_ns: float
    doubted: Interruptions | None = None
    unsure: float = 0.0


def find_interference(
    record: RunRecord, results: Sequence[ClientResult], plan: MeasurePlan
) -> Interference | Refusal:
    """Find the interruptions of a run, or why they cannot be known.

    Parameters
    ----------
    record : RunRecord
        Contents of ``run.json``.
    results : sequence of ClientResult
        With ``away`` of each worker.
    plan : MeasurePlan
        The run's plan.
    """
    if refusal := _find_obstacle(record, results, plan):
        return refusal
    spans: list[tuple[int, int, int]] = []
    limits: list[int] = []
    watched = cast("list[Watched]", record.sentinel)
    zero, length = results[0].measured_from_ns or 0, int(plan.duration_s * 1e9)
    for watch in watched:
        if not (watch.from_ns <= zero and zero + length <= watch.to_ns):
            return Refusal(
                "clock-mismatch",
                f"the sentinel on CPU {watch.cpu} did not watch all of the measurement, by its clock",
                "clients and server on one host whose clock does not jump",
                {"cpu": watch.cpu},
            )
        spans += [
            (alive - zero, (alive + scheduled) // 2 - zero, woken - zero)
            for alive, scheduled, woken in watch.spans_ns
        ]
        limits.append(watch.period_ns + watch.late_ns)
    late = [(scheduled - zero, woken - zero) for watch in watched for _, scheduled, woken in watch.spans_ns]
    from_server = Interruptions.from_times(
        [scheduled for scheduled, _ in late], [woken for _, woken in late]
    ).taken(0, length)
    away = [thread.away for result in results for thread in result.threads if thread.away]
    if plan.pacing == "spin":
        spans += [(on, on, off) for gaps in away for on, off in gaps.spans_ns]
        limits += [gaps.idle_ns for gaps in away]
    missed = sum(watch.missed for watch in watched)
    if plan.pacing == "spin":
        missed += sum(gaps.missed for gaps in away)
    if missed:
        return Refusal(
            "too-many-interruptions",
            f"{missed:,} of {len(spans) + missed:,} interruptions could not be recorded",
            "a quieter host, or shorter runs",
            {"missed": missed, "seen": len(spans)},
        )
    doubts = [(alive - zero, woken - zero) for watch in watched for alive, _, woken in watch.unsure_ns or ()]
    on, likely, off = (list(column) for column in zip(*spans, strict=True)) if spans else ([], [], [])
    interruptions = Interruptions.from_times(on, off, seen_ns=float(max(limits)))
    doubted = None
    if doubts:
        more_on, more_off = (list(column) for column in zip(*doubts, strict=True))
        doubted = Interruptions.from_times(on + more_on, off + more_off, seen_ns=interruptions.seen_ns)
    return Interference(
        interruptions,
        Interruptions.from_times(likely, off).taken(0, length),
        from_server,
        _by_sentinel(watched, zero, length),
        ("sentinel", "spin gaps") if plan.pacing == "spin" else ("sentinel",),
        float(max((gaps.call_ns for gaps in away), default=0)),
        doubted,
        0.0 if doubted is None else doubted.taken(0, length) - interruptions.taken(0, length),
    )


def _by_sentinel(watched: Sequence[Watched], zero: int, length: int) -> float:
    each = []
    for watch in watched:
        spans = [
            ((alive + scheduled) // 2 - zero, woken - zero) for alive, scheduled, woken in watch.spans_ns
        ]
        each.append(
            Interruptions.from_times([on for on, _ in spans], [off for _, off in spans]).taken(0, length)
        )
    return sum(each) / len(each)


def _find_obstacle(record: RunRecord, results: Sequence[ClientResult], plan: MeasurePlan) -> Refusal | None:
    """Return why this run cannot show interference, before looking at any span."""
    if plan.loop == "closed":
        return Refusal(
            "closed-loop", "a closed loop schedules requests by the server's replies", "an open loop"
        )
    cpus = set(record.target.cpus or ())
    if not cpus:
        return Refusal(
            "unknown-server-cpus",
            "the server's CPUs are not known: it runs elsewhere, or its process cannot be found",
            "clients on the server's machine, run by a user who can see its process",
        )
    if not apart(plan, cpus):
        return Refusal(
            "shared-cpus",
            "a client may run on the server's CPUs: what interrupts it may be the server's own work",
            "separate CPUs for clients and server: a machine (or cpuset) with two, then --server-cpus and"
            " --client-cpus, or taskset for a server that runs already",
        )
    stops = sum(quota.periods for one in results if one.host and (quota := one.host.throttled))
    if stops:
        return Refusal(
            "throttled",
            f"the clients' cgroup used up its CPU quota {stops} times: their own work stopped them",
            "a quota that is large enough for clients that spin, or no quota",
            {"periods": stops},
        )
    if isinstance(fault := record.sentinel, Fault):
        return Refusal(
            "no-sentinel", fault.fault, fault.hint or "", {"code": fault.code} if fault.code else {}
        )
    if not record.sentinel:
        return Refusal("no-sentinel", "no sentinel watched the server's CPUs", "--sentinel auto")
    return None
