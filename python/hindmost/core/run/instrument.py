"""The kernel's figures about the instrument itself, for the verdict and the report.

Each figure is of the worst worker (or client) of a run, and their mean over runs counts, as for latencies.
None means that the kernel did not report it. docs/concepts/self-diagnosis.md explains each figure, its limit
and the reason for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hindmost.core.run.figures import RunFigures
from hindmost.core.store import engine
from hindmost.core.store.engine import HostSpan, SocketReport, TcpCounters, ThreadReport

Figure = Callable[[RunFigures], float | None]
TRACER = "hindmost-trace"
"""The thread of ``--trace``, by its name in the kernel (``crates/trace``)."""


def mean_over_runs(runs: Sequence[RunFigures], figure: Figure) -> float | None:
    """Return the mean of a figure over the runs that have it."""
    known = [value for run in runs if (value := figure(run)) is not None]
    return sum(known) / len(known) if known else None


def threads(run: RunFigures) -> list[ThreadReport]:
    """Return what the workers of a run's clients report about themselves."""
    return [thread for client in run.clients for thread in client.result.threads]


def _sockets(run: RunFigures) -> list[SocketReport]:
    return [thread.sockets for thread in threads(run) if thread.sockets]


def _hosts(run: RunFigures) -> list[HostSpan]:
    return [host for client in run.clients if (host := client.result.host)]


def _neighbours_of(host: HostSpan) -> list[engine.Neighbour]:
    return host.neighbours.named


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def busy_share(run: RunFigures) -> float | None:
    """Return the share of time spent sending and receiving, of the busiest worker."""
    return _worst(thread.busy_share for thread in threads(run))


def cpu_share(run: RunFigures) -> float | None:
    """Return the share of time on a CPU, spinning included, of the worker that had the least."""
    return min((thread.cpu_share for thread in threads(run)), default=None)


def wait_share(run: RunFigures) -> float | None:
    """Return the share of time ready to run while another thread had the CPU, of the worst worker."""
    return _worst(thread.run_delay_share for thread in threads(run))


def interference_share(run: RunFigures) -> float | None:
    """Return this share without the server, where it shares the client's CPUs, and without the run's trace.

    On shared CPUs a slow server makes longer waits, and a limit on them would favour fast runs. The trace is
    requested and is the same in all runs. The rest is interference: the wait that remains if these two ran
    there all of their time, and at least what threads took that can run nowhere else.
    """
    waited = wait_share(run)

    def is_expected(neighbour: engine.Neighbour) -> bool:
        return is_server(run, neighbour) or is_tracer(run, neighbour)

    if waited is None or not any(
        is_expected(other) for host in _hosts(run) for other in _neighbours_of(host)
    ):
        return waited
    bound = _on_cpu(run, lambda other: other.bound and not is_expected(other))
    return max(waited - _on_cpu(run, is_expected), min(waited, bound), 0.0)


def _on_cpu(run: RunFigures, includes: Callable[[engine.Neighbour], bool]) -> float:
    """Return the share of time that these neighbours ran, for the client where it was largest."""
    shares = [
        sum(other.on_cpu_ns for other in _neighbours_of(host) if includes(other)) / host.wall_ns
        for host in _hosts(run)
        if host.wall_ns
    ]
    return max(shares, default=0.0)


def is_server(run: RunFigures, neighbour: engine.Neighbour) -> bool:
    """Whether a neighbour of the clients is the server under test, or a process that it started.

    Older studies have only its name, which other processes may share.
    """
    pids = run.record.server_pids
    return neighbour.process == server_process(run) if pids is None else neighbour.pid in pids


def is_tracer(run: RunFigures, neighbour: engine.Neighbour) -> bool:
    """Whether a neighbour of the clients is the trace of this run."""
    return neighbour.name == TRACER and bool(run.record.trace)


def server_process(run: RunFigures) -> str | None:
    """Return the kernel's name of the server process; None if it runs elsewhere or is unknown."""
    return run.record.server_process


def wait_us(run: RunFigures) -> float | None:
    """Return the mean length of the waits for a CPU, in µs."""
    return _worst(
        schedule.run_delay_ns / 1e3 / turns
        for thread in threads(run)
        if (schedule := thread.span.schedule)
        and (turns := thread.span.involuntary_switches + thread.span.voluntary_switches)
    )


def switches_per_s(run: RunFigures) -> float | None:
    """Return how often per second a worker was preempted."""
    return _worst(
        thread.span.involuntary_switches / (wall / 1e9)
        for thread in threads(run)
        if (wall := thread.span.wall_ns)
    )


def steal_share(run: RunFigures) -> float | None:
    """Return the share of the time of a CPU in use that the hypervisor took."""
    return _worst(
        [
            *(client.result.steal_share for client in run.clients),
            run.record.server_steal_share,
        ]
    )


def throttled_share(run: RunFigures) -> float | None:
    """Return the share of quota periods in which a client's cgroup was throttled."""
    return _worst(
        min(1.0, quota.periods * quota.period_us * 1e3 / host.wall_ns)
        for host in _hosts(run)
        if (quota := host.throttled) and host.wall_ns
    )


def interrupts_per_s(run: RunFigures) -> float | None:
    """Return hardware interrupts per second on each CPU of a client."""
    return _worst(
        host.interrupts.hard_total / len(host.cpus) / (host.wall_ns / 1e9)
        for host in _hosts(run)
        if host.cpus and host.wall_ns
    )


def late_share(run: RunFigures, stage: Literal["writing", "reading", "waiting"]) -> float | None:
    """Return the share of requests sent more than 5 us late because of one stage of the worker's loop.

    Parameters
    ----------
    run : RunFigures
        A run of an open loop.
    stage : {"writing", "reading", "waiting"}
        Handing other requests to the kernel; reading replies; neither (its CPU was taken, or a sleeping
        client woke late).
    """
    late_counts = [getattr(thread.late, stage).requests for thread in threads(run) if thread.late]
    return sum(late_counts) / max(1, run.counts.scheduled) if late_counts else None


def own_send_delay(run: RunFigures) -> float | None:
    """Return the send delay beyond the write calls' own at p99 (or the highest quantile below it), in µs.

    The write calls' own part is the send delay of a client that does nothing else (Lindley's recursion over
    the measured calls): one thread cannot be faster on this host.
    """
    if "ideal_send_delay" not in run.values:
        return None
    levels = {float(name[1:]): name for name in run.values["send_delay"] if name != "mean"}
    name = levels[max((level for level in levels if level <= 99.0), default=min(levels))]
    return run.values["send_delay"][name] - run.values["ideal_send_delay"][name]


def retransmits(run: RunFigures) -> int:
    """Count the segments that our connections retransmitted."""
    return sum(socket.retransmits for socket in _sockets(run))


def other_retransmits(run: RunFigures) -> int:
    """Count the segments that the server or other programs retransmitted, in our or its network namespace."""
    whole = max((tcp.retransmits for tcp in _namespaces(run)), default=0)
    return max(0, whole - retransmits(run))


def retransmits_per_request(run: RunFigures) -> float | None:
    """Return the segments that our connections retransmitted, per request."""
    return retransmits(run) / max(1, run.counts.scheduled) if _sockets(run) else None


def drops(run: RunFigures) -> int:
    """Count connections dropped in the measurement, by a full accept queue or on arrival."""
    return max((tcp.listen_drops for tcp in _namespaces(run)), default=0)


def drops_before(run: RunFigures) -> int:
    """Count connections dropped while clients connected and warmed up."""
    before = [tcp for client in run.clients if (tcp := client.result.tcp_before)]
    return max((tcp.listen_drops for tcp in before), default=0)


def _namespaces(run: RunFigures) -> list[TcpCounters]:
    """Return the TCP counters of each client's network namespace, and of the server's if it is another."""
    clients = [client.result.tcp for client in run.clients]
    return [tcp for tcp in (*clients, run.record.server_tcp) if tcp]


def blocked_share(run: RunFigures) -> float | None:
    """Return the share of requests that the kernel did not accept in one write."""
    sockets = _sockets(run)
    return (
        sum(socket.blocked_writes for socket in sockets) / max(1, run.counts.scheduled) if sockets else None
    )


def receive_fill(run: RunFigures) -> float | None:
    """Return how full a client's receive buffer was when read, at most (share of its limit)."""
    return _worst(
        min(1.0, max(socket.largest_read_bytes, socket.receive.bytes) / limit)
        for socket in _sockets(run)
        if (limit := socket.receive.limit_bytes)
    )


def zero_windows(run: RunFigures) -> int:
    """Count how often a receive buffer, a client's or a local server's, was full and stopped its sender."""
    return max((tcp.zero_windows or 0 for tcp in _namespaces(run)), default=0)


def peer_full(run: RunFigures) -> float | None:
    """Return the share of time in which a connection could not send because the server's buffer was full."""
    return _worst(
        sockets.peer_full_us * 1e3 / sockets.looked_at / wall
        for thread in threads(run)
        if (sockets := thread.sockets) and sockets.looked_at and (wall := thread.span.wall_ns)
    )


def not_accepted(run: RunFigures) -> int:
    """Count connections waiting in the server's accept queue when the measurement began."""
    queues = run.record.server_queues
    return queues.begin.accept if queues else 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A process next to the clients: its name, its pid in the last run that saw it, its CPU use.

    ``share`` is of one CPU's time. If it is not ``bound`` to the clients' CPUs, part of it may have been used
    elsewhere. ``server``: it is the server under test; ``tracer``: it is the trace of these runs.
    """

    name: str
    pid: int
    share: float
    turns_per_s: float
    bound: bool
    kernel: bool
    server: bool = False
    tracer: bool = False

    def __str__(self) -> str:
        most = "" if self.bound else "up to "
        role = ", the server under test" if self.server else ", the trace of this run" if self.tracer else ""
        return f"{self.name}{role} (pid {self.pid}: {most}{self.share:.2%}, {self.turns_per_s:.0f} turns/s)"


def list_neighbours(runs: Sequence[RunFigures]) -> list[Neighbour]:
    """Return all processes that ran on the clients' CPUs, by name, the largest share first."""
    wall_s = sum(host.wall_ns for run in runs for host in _hosts(run)) / 1e9
    rows: dict[tuple[str, bool, bool], list[engine.Neighbour]] = {}
    for run in runs:
        for host in _hosts(run):
            for other in _neighbours_of(host):
                key = (_name(other), is_server(run, other), is_tracer(run, other))
                rows.setdefault(key, []).append(other)
    rows_by_share = [
        Neighbour(
            name,
            parts[-1].pid,
            sum(part.on_cpu_ns for part in parts) / 1e9 / wall_s,
            sum(part.turns for part in parts) / wall_s,
            all(part.bound for part in parts),
            parts[-1].kernel,
            server,
            tracer,
        )
        for (name, server, tracer), parts in rows.items()
        if wall_s
    ]
    return sorted(rows_by_share, key=lambda row: (row.share, row.turns_per_s), reverse=True)


def _name(neighbour: engine.Neighbour) -> str:
    """Return a thread's usual name, without the current work of a kernel worker."""
    if neighbour.kernel:
        return neighbour.name.partition("-")[0] if neighbour.name.startswith("kworker") else neighbour.name
    return (
        neighbour.process if neighbour.process == neighbour.name else f"{neighbour.process}/{neighbour.name}"
    )


def interrupt_sources(runs: Sequence[RunFigures]) -> list[tuple[str, float]]:
    """Return the interrupt sources on the clients' CPUs with their rate per second."""
    wall_s = sum(host.wall_ns for run in runs for host in _hosts(run)) / 1e9
    totals: dict[str, int] = {}
    for run in runs:
        for host in _hosts(run):
            for source in host.interrupts.hard:
                totals[source.source] = totals.get(source.source, 0) + source.count
    return sorted(((name, n / wall_s) for name, n in totals.items()), key=lambda row: -row[1])
