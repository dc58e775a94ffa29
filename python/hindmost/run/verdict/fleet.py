"""Judgements on load hosts: one that is slow, one that was lost, one that was not idle."""

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
        each = [[one.values.get("latency", {}).get(name) for one in run.instances] for run in e.runs]
        values = [[value for value in run if value is not None] for run in each if None not in run]
        for one in odd_instances(values)[:1]:
            mine = mean([run[one.index] for run in values])
            where = host_of(e, one.index)
            yield Reason(
                "slow-client",
                "note",
                f"client {one.index}{f' on host {where}' if where else ''} is slower than the others:"
                f" {name} is {format_us(mine)}, {one.ratio:.3g} times theirs (p = {one.p_value:.2g})",
                f"check link and load of {where or 'its machine'} with hindmost host doctor and ping; figures"
                " without this client describe the server",
                labels=(name,),
                values={
                    "client": one.index,
                    "host": where,
                    "name": name,
                    "latency_us": mine,
                    "ratio": one.ratio,
                    "p": one.p_value,
                },
            )
            return


def lost(e: Evidence) -> Iterator[Reason]:
    """Runs that were void, because a load host was lost during them."""
    why = [text for run in e.made for text in run.record.get("voided", ())]
    if why:
        runs = "1 run was" if len(why) == 1 else f"{len(why)} runs were"
        yield Reason(
            "host-lost",
            "note",
            f"{runs} void and repeated: {why[0]}",
            "check that host",
            values={"runs": len(why)},
        )


def silent(e: Evidence) -> Iterator[Reason]:
    """The process that talks to the controller was active while its host measured."""
    for run in e.runs:
        for one in run.record.get("fleet", ()):
            channel = one["channel"]
            if channel is None:
                continue
            rate = channel["wakeups"] / max(channel["seconds"], 1e-9)
            if channel["bytes"] or rate > limits.CHANNEL_WAKEUPS_PER_S:
                yield Reason(
                    "worker-active",
                    "note",
                    f"run {run.number}: the worker on host {one['host']} was active while it measured:"
                    f" {channel['bytes']} bytes, {rate:.1f} wakeups/s, {channel['cpu_ms']:.1f} ms of"
                    " CPU time",
                    "use `--fleet` with a file of hosts, so that the workers are Hindmost's own",
                    values={
                        "run": run.number,
                        "host": one["host"],
                        "bytes": channel["bytes"],
                        "wakeups_per_s": rate,
                        "cpu_ms": channel["cpu_ms"],
                    },
                )
                return


def host_of(e: Evidence, index: int) -> str | None:
    """Name of a client's load host, unless it is this machine."""
    hosts: list[dict[str, Any]] = e.runs[-1].record.get("fleet", [])
    return next((one["host"] for one in hosts if index in one["instances"]), None)
