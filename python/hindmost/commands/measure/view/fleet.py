"""Load hosts: measured latency, clock offset, and traffic during the measurement."""

from __future__ import annotations

from hindmost.core.store.measure import LoadHost, Measure
from hindmost.present import numbers
from hindmost.present.blocks import Table


def lines(doc: Measure) -> list[tuple[str, str]]:
    """Return one line per load host, with its key. Empty if only the controller's host sent load."""
    machines = doc.fleet
    if not machines:
        return []
    rows = []
    for host in machines.hosts:
        seen = ", ".join(f"{name} {numbers.latency(value)}" for name, value in host.latency_us.items())
        share = host.share_of_slowest
        tail = f"; {numbers.percent(share)} of the slowest 1 %" if share is not None else ""
        rows.append((f"  {host.host}", f"{seen}{tail}; clock {clock(host)}; channel {silence(host)}"))
    return rows


def clock(host: LoadHost) -> str:
    """Format a host's clock offset from the controller, with its error."""
    off = host.clock
    error = f"±{off.error_us / 1e3:.3f} ms, drift {off.drift_ppm:+.1f} ppm"
    return f"{off.offset_us / 1e3:+,.3f} ms ({error})"


def silence(host: LoadHost) -> str:
    """Format the traffic on a host's channel during the measurement."""
    channel = host.channel
    if channel is None:
        return "not counted"
    return f"{channel.bytes} bytes, {numbers.plural(channel.wakeups, 'wakeup')}"


def host_table(doc: Measure) -> list[Table]:
    """Return the table of the load hosts. Empty if only the controller's host sent load."""
    machines = doc.fleet
    if not machines:
        return []
    labels = list(machines.hosts[0].latency_us)
    rows = [
        (
            host.host,
            ", ".join(map(str, host.clients)),
            *(numbers.latency(host.latency_us.get(label)) for label in labels),
            numbers.percent(host.share_of_slowest),
            clock(host),
            silence(host),
        )
        for host in machines.hosts
    ]
    heads = (
        "host",
        "clients",
        *labels,
        "of the slowest 1 %",
        "clock offset",
        "bytes and wakeups on its channel",
    )
    return [Table(heads, rows)]
