"""What people call the parts of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.escapes import plain
from hindmost.report.common.numbers import number, percent

STAGES = {
    "network_to_tcp": "network to TCP",
    "tcp_to_read": "TCP to read",
    "read_to_start": "read to start",
    "start_to_response": "start to response",
    "response_to_network": "response to network",
    "latency": "in the server's host",
}
"""What people call the stages of the document."""
CAUSES = {
    "running": "running",
    "run_queue": "waited for a CPU",
    "interrupt": "interrupted",
    "handed_on": "passed on by another thread",
    "wake": "being woken",
    "lock": "waited for a lock",
    "page_fault": "page fault",
    "blocked": "blocked",
    "unseen": "not seen",
}
"""What people call the causes of the document."""
RELATIONS = {
    "own": "the server's own",
    "other": "another process",
    "kernel": "the kernel's",
    "interrupt": "an interrupt",
    "idle": "a sleeping CPU",
    "unknown": "not seen",
}
"""What a culprit is to the server."""
LEAST_OF_IT = 0.5
TIMES_ANOTHER = 2.0
"""A thread is named apart from others of its name that has half of what they have, and twice what each of the
others has: of two the greater always has half."""


def culprit(who: Mapping[str, Any]) -> str:
    """Name and relation of a culprit.

    >>> culprit({"name": "mc-lrumaint", "process": 7, "relation": "own"})
    "mc-lrumaint (the server's own)"
    >>> culprit({"name": "backup", "process": 9, "relation": "other"})
    'backup, process 9 (another process)'
    >>> pair = {"name": "pool", "process": 7, "relation": "own", "threads": 2}
    >>> culprit({**pair, "foremost": {"thread": 31, "share": 0.6}})
    "pool (the server's own)"
    >>> most = {"thread": 31, "share": 0.91}
    >>> culprit({"name": "pool", "process": 7, "relation": "own", "threads": 8, "foremost": most})
    "pool (the server's own; thread 31 of 8 has 91 % of it)"
    """
    number = f", process {who['process']}" if who["relation"] == "other" else ""
    most = who.get("foremost")
    apart = ""
    if most is not None and most["share"] >= max(
        LEAST_OF_IT, TIMES_ANOTHER / (TIMES_ANOTHER + who["threads"] - 1)
    ):
        apart = f"; thread {most['thread']} of {who['threads']} has {min(1.0, most['share']):.0%} of it"
    return f"{plain(who['name'])}{number} ({RELATIONS[who['relation']]}{apart.replace('%', ' %')})"


def twice_another(threads: int) -> float:
    """Return the share of which the others have half as much each.

    >>> twice_another(3)
    0.5
    """
    return TIMES_ANOTHER / (TIMES_ANOTHER + threads - 1)


def taken(found: Mapping[str, Any]) -> str:
    """Write how much of the server's CPUs others used."""
    stolen, others = found["hypervisor_share"], found["other_programs"]
    parts = [] if stolen is None else [f"the hypervisor used {percent(stolen)} of CPUs {found['cpus']}"]
    if others is not None:
        share = percent(others["share_of_variance"])
        parts.append(
            f"other programs delayed a request by {number(others['mean_us'])} µs ({share} of the variance)"
        )
    return f"Interference: {', '.join(parts)}." if parts else ""


def text_of_note(note: Mapping[str, Any] | str) -> str:
    """Return a note's sentence; documents of earlier versions hold the sentence alone."""
    return plain(note if isinstance(note, str) else note["text"])


def begins(begun: Mapping[str, Any]) -> str:
    """Write which function shows where requests begin."""
    share = percent(begun["share"])
    return f"{plain(begun['function'])} begins a request: the trace saw it for {share} of them."
