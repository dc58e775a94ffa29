"""Output of ``hindmost clone serve``: its certificate at the start, its account at the end."""

from __future__ import annotations

from typing import Any

ROWS = (
    ("service", "service"),
    ("queueing", "queueing"),
    ("sojourn", "both"),
    ("lock_waits", "waits for locks"),
)


def render_certificate(certificate: dict[str, Any], mean_busy_us: float) -> str:
    """Render the accuracy of spinning on this host, and what it means for a clone.

    Parameters
    ----------
    certificate : dict
        Result of ``_engine.certify_spin``.
    mean_busy_us : float
        Mean service time of the clone, in microseconds.
    """
    host, noise = certificate["host"], certificate["noise"]
    gaps = host["gaps"]
    trusted = certificate["trusted_from_us"]
    share = host["cpu_ns"] / host["wall_ns"]
    steal = noise["steal_share"]
    lines = [
        "spinning on this host: "
        + (
            "no service time is accurate now"
            if trusted is None
            else f"service times of at least {trusted:g} µs are accurate"
        )
        + " (median within 1 %, p99 within 8 % of the intended time)",
        f"  CPU share {share:.2%}, preempted {host['involuntary_switches']} times,"
        + (
            f" {host['run_delay_ns'] / 1e6:.3g} ms in the run queue,"
            if host["run_delay_ns"] is not None
            else ""
        )
        + (f" {steal:.2%} stolen by the hypervisor," if steal is not None else "")
        + f" {gaps['over_5us']} pauses above 5 µs, the longest {gaps['longest_ns'] / 1e3:,.0f} µs",
        f"  reading the clock takes {certificate['clock_read_ns']:.0f} ns, a thread's CPU clock"
        f" {certificate['cpu_clock_read_ns'] / 1e3:.2g} µs",
    ]
    if trusted is None or mean_busy_us < trusted:
        lines.append(
            f"  this clone's mean of {mean_busy_us:.4g} µs is below that, so the host will dominate its tail;"
            " keep the processors free, or use `hindmost clone simulate`"
        )
    return "\n".join(lines) + "\n"


def render_account(account: dict[str, Any]) -> str:
    """Render the account: true times in microseconds, and interference from the host.

    Examples
    --------
    >>> spread = {"count": 2, "mean_ns": 2e3, "p50_ns": 1e3, "p95_ns": 3e3, "p99_ns": 3e3, "max_ns": 3e3}
    >>> none = {**spread, "count": 0}
    >>> host = {"cpu_ns": 9, "wall_ns": 10, "involuntary_switches": 1, "run_delay_ns": None}
    >>> print(render_account({
    ...     "total": {"served": 2}, "service": spread, "queueing": spread, "sojourn": spread,
    ...     "lock_waits": none, "occupy": "wall", "host": [host], "steal_share": None,
    ...     "gaps": {"over_5us": 0, "total_ns": 0, "longest_ns": 0}, "log": None,
    ... }))
    2 requests; services take wall time
    µs                  mean       p50       p95       p99   longest
    service             2.00      1.00      3.00      3.00      3.00
    queueing            2.00      1.00      3.00      3.00      3.00
    both                2.00      1.00      3.00      3.00      3.00
    host: CPU share 90.00%, preempted 1 times; no pause above 5 µs in a service
    <BLANKLINE>
    """
    times = "wall time" if account["occupy"] == "wall" else "CPU time of the thread"
    lines = [f"{account['total']['served']:,} requests; services take {times}"]
    lines.append(f"{'µs':<15} {'mean':>8}  {'p50':>8}  {'p95':>8}  {'p99':>8}  {'longest':>8}")
    for key, name in ROWS:
        spread = account[key]
        if spread["count"]:
            figures = [spread[of] / 1e3 for of in ("mean_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns")]
            lines.append(f"{name:<15} " + "  ".join(f"{figure:>8.2f}" for figure in figures))
    lines.append(_host(account))
    if log := account["log"]:
        lost = f"; {log['beyond']:,} more did not fit" if log["beyond"] else ""
        lines.append(f"log: {log['path']}, {log['requests']:,} requests{lost}")
    return "\n".join(lines) + "\n"


def _host(account: dict[str, Any]) -> str:
    threads = account["host"]
    share = sum(one["cpu_ns"] for one in threads) / max(1, sum(one["wall_ns"] for one in threads))
    taken = sum(one["involuntary_switches"] for one in threads)
    text = f"host: CPU share {share:.2%}, preempted {taken} times"
    if all(one["run_delay_ns"] is not None for one in threads):
        text += f", {sum(one['run_delay_ns'] for one in threads) / 1e6:.3g} ms in the run queue"
    if account["steal_share"] is not None:
        text += f", {account['steal_share']:.2%} stolen by the hypervisor"
    gaps, p99_ns = account["gaps"], account["sojourn"]["p99_ns"]
    if not gaps["over_5us"]:
        return text + "; no pause above 5 µs in a service"
    text += (
        f"; {gaps['over_5us']} pauses above 5 µs in services, the longest {gaps['longest_ns'] / 1e3:,.0f} µs"
    )
    if p99_ns:
        text += f", {gaps['longest_ns'] / p99_ns:.3g} times p99"
    return text
