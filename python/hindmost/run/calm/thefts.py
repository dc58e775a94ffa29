"""When others had a processor of the server or of a client, as far as a run could see it.

Two sources, each with the smallest theft that it sees:

- a **spinning client** finds spans in its own loop in which it did nothing and that are longer than 20 us
  (``away`` in its result). It must have its processor for itself: where the server may run there, too, a
  span may be the server's own work.
- the **sentinel** (`hindmost.run.companions.sentinel`) wakes every millisecond on each processor of the
  server; a theft began between its last sign of life and the waking that came late. The whole of that is
  taken as stolen: who was in flight at its begin is looked at no longer, which costs requests and no truth.
  Without real-time priority it waits behind other programs, the server too. How long is known, and taken off
  its lateness; whether such a wait was a theft is not: ``doubted`` has them, too.

Neither counts interrupts of some microseconds, nor the server's own threads, nor a quota on its cgroup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.plan import MeasurePlan
from hindmost.run.calm.refusal import Refusal
from hindmost.run.sharing import apart
from hindmost.stats import Thefts
from hindmost.store.engine import InstanceResult


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen: ``thefts`` in ns since the measurement began, as wide as they may have been.

    ``taken``: share of the measurement, by the likeliest begin of each; ``from_server``: of the server's
    processors alone, by how late the sentinel woke: surely no less. ``by_sentinel``: share of the time of the
    server's processors, all of them together, that the sentinel saw taken, by the likeliest begin of each.
    ``sources``: who saw it.
    ``alike_ns``: thefts at least so long are seen whatever a client did at the time. ``doubted``: with all
    that may have been thefts, where there is such; ``unsure``: the share of the measurement that this adds.
    """

    thefts: Thefts
    taken: float
    from_server: float
    by_sentinel: float
    sources: tuple[str, ...]
    alike_ns: float
    doubted: Thefts | None = None
    unsure: float = 0.0


def seen(record: Mapping[str, Any], results: Sequence[InstanceResult], plan: MeasurePlan) -> Seen | Refusal:
    """Thefts of a run, or why they cannot be known.

    Parameters
    ----------
    record : mapping
        What ``run.json`` says.
    results : sequence of InstanceResult
        With ``away`` of each worker.
    plan : MeasurePlan
        What the run was made with.
    """
    if refusal := _unseen(record, results, plan):
        return refusal
    spans: list[tuple[int, int, int]] = []
    limits: list[int] = []
    watched = record["sentinel"]
    zero, length = results[0]["measured_from_ns"], int(plan.duration_s * 1e9)
    for one in watched:
        if not (one["from_ns"] <= zero and zero + length <= one["to_ns"]):
            return Refusal(
                "clock-mismatch",
                f"the sentinel on CPU {one['cpu']} did not watch all of the measurement, by its clock",
                "clients and server on one host, whose clock does not jump",
                {"cpu": one["cpu"]},
            )
        spans += [
            (alive - zero, (alive + due) // 2 - zero, woken - zero) for alive, due, woken in one["spans_ns"]
        ]
        limits.append(one["period_ns"] + one["late_ns"])
    late = [(due - zero, woken - zero) for one in watched for _, due, woken in one["spans_ns"]]
    from_server = Thefts.of([due for due, _ in late], [woken for _, woken in late]).taken(0, length)
    away = [thread["away"] for result in results for thread in result["threads"]]
    if plan.pacing == "spin":
        spans += [(on, on, off) for one in away for on, off in one["spans_ns"]]
        limits += [one["idle_ns"] for one in away]
    missed = sum(one["missed"] for one in (*watched, *(away if plan.pacing == "spin" else ())))
    if missed:
        return Refusal(
            "too-many-interruptions",
            f"{missed:,} of {len(spans) + missed:,} interruptions could not be recorded",
            "a quieter host, or shorter runs",
            {"missed": missed, "seen": len(spans)},
        )
    doubts = [
        (alive - zero, woken - zero) for one in watched for alive, _, woken in one.get("unsure_ns") or ()
    ]
    on, likely, off = (list(column) for column in zip(*spans, strict=True)) if spans else ([], [], [])
    thefts = Thefts.of(on, off, seen_ns=float(max(limits)))
    doubted = None
    if doubts:
        more_on, more_off = (list(column) for column in zip(*doubts, strict=True))
        doubted = Thefts.of(on + more_on, off + more_off, seen_ns=thefts.seen_ns)
    return Seen(
        thefts,
        Thefts.of(likely, off).taken(0, length),
        from_server,
        _by_sentinel(watched, zero, length),
        ("sentinel", "spin gaps") if plan.pacing == "spin" else ("sentinel",),
        float(max((one["call_ns"] for one in away), default=0)),
        doubted,
        0.0 if doubted is None else doubted.taken(0, length) - thefts.taken(0, length),
    )


def _by_sentinel(watched: Sequence[Mapping[str, Any]], zero: int, length: int) -> float:
    each = []
    for one in watched:
        spans = [((alive + due) // 2 - zero, woken - zero) for alive, due, woken in one["spans_ns"]]
        each.append(Thefts.of([on for on, _ in spans], [off for _, off in spans]).taken(0, length))
    return sum(each) / len(each)


def _unseen(
    record: Mapping[str, Any], results: Sequence[InstanceResult], plan: MeasurePlan
) -> Refusal | None:
    """What is known before any span is looked at."""
    if plan.loop == "closed":
        return Refusal(
            "closed-loop", "a closed loop schedules requests by the server's replies", "an open loop"
        )
    cpus = set(record["target"].get("cpus") or ())
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
            "CPUs of its own for each: a machine (or cpuset) with two, then --server-cpus and"
            " --client-cpus, or taskset for a server that runs already",
        )
    stops = sum(quota["periods"] for one in results if (quota := one["host"]["throttled"]))
    if stops:
        return Refusal(
            "throttled",
            f"the clients' cgroup used up its CPU quota {stops} times: their own work stopped them",
            "a quota that is large enough for clients that spin, or none",
            {"periods": stops},
        )
    sentinel = record.get("sentinel")
    if not sentinel or isinstance(sentinel, dict):
        why = sentinel["fault"] if sentinel else "no sentinel watched the server's CPUs"
        hint = sentinel["hint"] if sentinel else "--sentinel auto"
        values = {"code": sentinel["code"]} if sentinel and "code" in sentinel else {}
        return Refusal("no-sentinel", why, hint, values)
    return None
