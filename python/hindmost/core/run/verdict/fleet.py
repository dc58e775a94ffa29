"""Checks of load hosts: one that is slow, one that was lost, one that was active during a measurement."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.core.plan.units import format_us
from hindmost.core.run import limits
from hindmost.core.run.verdict.reason import Evidence, Reason, mean
from hindmost.stats import find_slow_clients


def slow_clients(e: Evidence) -> Iterator[Reason]:
    """A client is slower than the others, overall or in its tail: a link, a switch, a busy host."""
    if e.plan.clients < 2:
        return
    for name in (e.plan.labels[0], e.plan.labels[-1]):
        each = [[client.values.get("latency", {}).get(name) for client in run.clients] for run in e.runs]
        values = [[value for value in run if value is not None] for run in each if None not in run]
        for odd in find_slow_clients(values)[:1]:
            latency_us = mean([run[odd.index] for run in values])
            host = host_of(e, odd.index)
            yield Reason(
                "slow-client",
                "note",
                f"client {odd.index}{f' on host {host}' if host else ''} is slower than the others:"
                f" {name} is {format_us(latency_us)}, {odd.ratio:.3g} times theirs (p = {odd.p_value:.2g})",
                f"check link and load of {host or 'its machine'} with hindmost host doctor and ping; figures"
                " without this client describe the server",
                labels=(name,),
                values={
                    "client": odd.index,
                    "host": host,
                    "name": name,
                    "latency_us": latency_us,
                    "ratio": odd.ratio,
                    "p": odd.p_value,
                },
            )
            return


def lost_hosts(e: Evidence) -> Iterator[Reason]:
    """Runs were void because a load host was lost."""
    why = [text for run in e.made for text in run.record.voided or ()]
    if why:
        runs = "1 run was" if len(why) == 1 else f"{len(why)} runs were"
        yield Reason(
            "host-lost",
            "note",
            f"{runs} void and repeated: {why[0]}",
            "check that host and its network",
            values={"runs": len(why)},
        )


def active_workers(e: Evidence) -> Iterator[Reason]:
    """The process that talks to the controller was active while its host measured."""
    for run in e.runs:
        for entry in run.record.fleet or ():
            channel = entry.channel
            if channel is None:
                continue
            rate = channel.wakeups / max(channel.seconds, 1e-9)
            if channel.bytes or rate > limits.CHANNEL_WAKEUPS_PER_S:
                yield Reason(
                    "worker-active",
                    "note",
                    f"run {run.number}: the worker on host {entry.host} was active while it measured:"
                    f" {channel.bytes} bytes, {rate:.1f} wakeups/s, {channel.cpu_ms:.1f} ms of"
                    " CPU time",
                    "use `--fleet` with a file of hosts, so that the workers are Hindmost's own",
                    values={
                        "run": run.number,
                        "host": entry.host,
                        "bytes": channel.bytes,
                        "wakeups_per_s": rate,
                        "cpu_ms": channel.cpu_ms,
                    },
                )
                return


def host_of(e: Evidence, index: int) -> str | None:
    """Return the name of a client's load host, None for this machine."""
    hosts = e.runs[-1].record.fleet or ()
    return next((entry.host for entry in hosts if index in entry.clients), None)
