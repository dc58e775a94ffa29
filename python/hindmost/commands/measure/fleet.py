"""The load hosts in the answer: latency, clock and network traffic of each."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures
from hindmost.core.store.estimates import number
from hindmost.core.store.manifest import HostOfRun
from hindmost.core.store.measure import Fleet, LoadHost
from hindmost.core.store.measure.fleet import HostChannel, HostClock, VoidRun
from hindmost.stats import Ownership


def fleet_of(
    runs: Sequence[RunFigures], made: Sequence[RunFigures], plan: MeasurePlan, owner: Ownership
) -> Fleet | None:
    """Summarise each load host over the runs that count; None if all clients ran on the controller.

    Parameters
    ----------
    made : sequence of RunFigures
        All runs, including excluded ones.
    """
    fleets = [fleet for run in runs if (fleet := run.record.fleet)]
    if not fleets:
        return None
    return Fleet(
        hosts=[_host(place, fleets, runs, plan, owner) for place in range(len(fleets[0]))],
        voided=[VoidRun(run=run.number, why=why) for run in made for why in run.record.voided or ()],
    )


def _host(
    place: int,
    fleets: Sequence[Sequence[HostOfRun]],
    runs: Sequence[RunFigures],
    plan: MeasurePlan,
    owner: Ownership,
) -> LoadHost:
    each = [fleet[place] for fleet in fleets]
    mine = each[0].clients
    values = {
        name: [run.clients[index].values["latency"][name] for run in runs for index in mine]
        for name in plan.labels
    }
    clocks = [clock for one in each for clock in (one.clock.before, one.clock.after)]
    channels = [one.channel for one in each if one.channel is not None]
    return LoadHost(
        host=each[0].host,
        hostname=each[0].hostname,
        clients=mine,
        latency_us={name: number(sum(column) / len(column)) for name, column in values.items()},
        share_of_slowest=sum(owner.shares[index] for index in mine) if owner.shares else None,
        share_of_all=sum(owner.fair[index] for index in mine) if owner.fair else None,
        clock=HostClock(
            offset_us=clocks[-1].offset_ns / 1e3,
            error_us=max(one.error_ns for one in clocks) / 1e3,
            drift_ppm=max((one.clock.drift_ppm for one in each), key=abs),
        ),
        channel=HostChannel(
            bytes=max(one.bytes for one in channels),
            wakeups=max(one.wakeups for one in channels),
            cpu_ms=max(one.cpu_ms for one in channels),
        )
        if channels
        else None,
    )
