"""Judgements on load machines: one that is slow, one that was lost, one that was not silent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hindmost.plan.units import format_us
from hindmost.run import limits
from hindmost.run.verdict.reason import Evidence, Reason, mean
from hindmost.stats import odd_instances


def odd(e: Evidence) -> Iterator[Reason]:
    """A client that is slower than the others, throughout or in its tail: a link, a switch, a busy host."""
    if e.plan.clients < 2:
        return
    for name in (e.plan.labels[0], e.plan.labels[-1]):
        told = [[one.values.get("latency", {}).get(name) for one in run.instances] for run in e.runs]
        values = [[value for value in run if value is not None] for run in told if None not in run]
        for one in odd_instances(values)[:1]:
            mine = mean([run[one.index] for run in values])
            where = host_of(e, one.index)
            yield Reason(
                "odd_client",
                "mind",
                f"instance {one.index}{f' on host {where}' if where else ''} is slower than the others:"
                f" {name} {format_us(mine)}, {one.ratio:.3g} times theirs (p = {one.p_value:.2g})",
                f"look at its link and its load: hindmost doctor, and ping, on {where or 'its machine'};"
                " without it the figures speak of the server",
                labels=(name,),
            )
            return


def lost(e: Evidence) -> Iterator[Reason]:
    """Runs that were void, because a load machine went in them."""
    why = [text for run in e.made for text in run.record.get("voided", ())]
    if why:
        runs = "run was void and was" if len(why) == 1 else "runs were void and were"
        yield Reason("host-lost", "mind", f"{len(why)} {runs} made again: {why[0]}", "look at that host")


def silent(e: Evidence) -> Iterator[Reason]:
    """The process that speaks with the controller was not silent while its host measured."""
    for run in e.runs:
        for one in run.record.get("fleet", ()):
            channel = one["channel"]
            if channel is None:
                continue
            rate = channel["wakeups"] / max(channel["seconds"], 1e-9)
            if channel["bytes"] or rate > limits.CHANNEL_WAKEUPS_PER_S:
                yield Reason(
                    "channel",
                    "mind",
                    f"run {run.number}: the worker on host {one['host']} was not silent while it measured:"
                    f" {channel['bytes']} bytes, {rate:.1f} wakeups/s, {channel['cpu_ms']:.1f} ms of a CPU",
                    "--fleet with a file of hosts, whose workers are ours alone",
                )
                return


def host_of(e: Evidence, index: int) -> str | None:
    """The load machine of an instance, where it is another than this."""
    hosts: list[dict[str, Any]] = e.runs[-1].record.get("fleet", [])
    return next((one["host"] for one in hosts if index in one["instances"]), None)
