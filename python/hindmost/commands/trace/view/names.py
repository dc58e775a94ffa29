"""Display names for the parts of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.core.escapes import plain
from hindmost.present.numbers import number, percent

STAGES = {
    "network_to_tcp": "network to TCP",
    "tcp_to_read": "TCP to read",
    "read_to_start": "read to start",
    "start_to_response": "start to response",
    "response_to_network": "response to network",
    "latency": "in the server's host",
}
"""Names of the document's stages."""
CAUSES = {
    "running": "running",
    "run_queue": "waited for a CPU",
    "interrupt": "interrupted",
    "handed_on": "passed on by another thread",
    "wake": "wake-up",
    "lock": "waited for a lock",
    "page_fault": "page fault",
    "blocked": "blocked",
    "unseen": "unknown",
}
"""Names of the document's causes."""
RELATIONS = {
    "own": "the server's own",
    "other": "another process",
    "kernel": "the kernel's",
    "interrupt": "an interrupt",
    "idle": "a sleeping CPU",
    "unknown": "unknown",
}
"""Relation of a culprit to the server."""
LEAST_OF_IT = 0.5
TIMES_ANOTHER = 2.0
"""A thread is named separately if it has at least half of the total of all threads with its name, and at
least twice as much as each of the others. (Of two threads, the larger always has half.)
"""


def culprit(who: Mapping[str, Any]) -> str:
    """Format the name and the relation of a culprit.

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
    if most is not None and most["share"] >= max(LEAST_OF_IT, double_share(who["threads"])):
        apart = f"; thread {most['thread']} of {who['threads']} has {min(1.0, most['share']):.0%} of it"
    return f"{plain(who['name'])}{number} ({RELATIONS[who['relation']]}{apart.replace('%', ' %')})"


def double_share(threads: int) -> float:
    """Return the share at which a thread has twice as much as each other thread.

    >>> double_share(3)
    0.5
    """
    return TIMES_ANOTHER / (TIMES_ANOTHER + threads - 1)


def interference_text(found: Mapping[str, Any]) -> str:
    """Format the share of the server's CPUs used by others."""
    stolen, others = found["hypervisor_share"], found["other_programs"]
    parts = [] if stolen is None else [f"the hypervisor used {percent(stolen)} of CPUs {found['cpus']}"]
    if others is not None:
        share = percent(others["share_of_variance"])
        parts.append(
            f"other programs delayed a request by {number(others['mean_us'])} µs ({share} of the variance)"
        )
    return f"Interference: {', '.join(parts)}." if parts else ""


def text_of_note(note: Mapping[str, Any] | str) -> str:
    """Return a note's sentence. Documents of earlier versions contain only the sentence."""
    return plain(note if isinstance(note, str) else note["text"])


def begin_text(begun: Mapping[str, Any]) -> str:
    """Format which function marks the beginning of requests."""
    share = percent(begun["share"])
    return f"{plain(begun['function'])} begins a request: the trace saw it for {share} of them."
