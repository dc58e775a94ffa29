"""Steps that undo a change, in the journal's form (`crates/knobs/src/step.rs`); no shell runs them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_kernel

Step = dict[str, Any]


def start_time(task: int) -> int | None:
    """Return when a process or thread started, in clock ticks since the boot; None if it has ended."""
    try:
        return int(read_kernel(f"/proc/{task}/stat").rpartition(")")[2].split()[19])
    except (OSError, IndexError):
        return None


def _tasks(numbers: Iterable[int]) -> list[dict[str, int]]:
    started = ((number, start_time(number)) for number in numbers)
    return [{"pid": number, "started": start} for number, start in started if start is not None]


def write(path: Path, value: str) -> Step:
    """Write a line into a file; symbolic links are resolved now, and refused at the undo."""
    return {"do": "write", "path": str(path.parent.resolve() / path.name), "value": value}


def go_on(pids: Iterable[int]) -> Step:
    """Let stopped processes continue."""
    return {"do": "continue", "processes": _tasks(pids)}


def place(cpus_of: Mapping[int, Iterable[int]]) -> list[Step]:
    """Let each thread run on its own CPUs."""
    return [{"do": "place", "thread": task, "cpus": sorted(cpus_of[task["pid"]])} for task in _tasks(cpus_of)]


def schedule(policies: Mapping[int, int]) -> list[Step]:
    """Give each thread a policy without priorities: ``os.SCHED_OTHER``, ``SCHED_BATCH`` or ``SCHED_IDLE``."""
    return [{"do": "schedule", "thread": task, "policy": policies[task["pid"]]} for task in _tasks(policies)]


def move(source: Path, to: Path) -> Step:
    """Move the members of one cgroup into another; both are files ``cgroup.procs``."""
    return {"do": "move", "from": str(source), "to": str(to)}


def kill(members: Path) -> Step:
    """Kill the members of a cgroup, by its file ``cgroup.procs``."""
    return {"do": "kill", "members": str(members)}


def shape(device: str, rate: int, burst: int, limit: int) -> Step:
    """Set an interface's token bucket: bits per second, bytes, bytes."""
    return {"do": "shape", "device": device, "rate": rate, "burst": burst, "limit": limit}


def disconnect(namespace: str, device: str) -> Step:
    """Remove a network namespace and the interface that leads to it."""
    return {"do": "disconnect", "namespace": namespace, "device": device}


def run(command: Sequence[str]) -> Step:
    """Run a program."""
    return {"do": "run", "command": list(command)}


def describe(steps: Sequence[Step]) -> str:
    """Return what the steps do, for people.

    Examples
    --------
    >>> describe([run(["sysctl", "-qw", "vm.swappiness=60"]), kill(Path("/sys/fs/cgroup/a b/cgroup.procs"))])
    "sysctl -qw vm.swappiness=60; kill the members of '/sys/fs/cgroup/a b'"
    >>> describe([])
    'nothing'
    """
    return "; ".join(map(_describe_step, steps)) or "nothing"


def _describe_step(step: Step) -> str:
    match step["do"]:
        case "write":
            return f"write {step['value']!r} to {shlex.quote(step['path'])}"
        case "continue":
            return f"resume {', '.join(str(process['pid']) for process in step['processes'])}"
        case "place":
            return f"move thread {step['thread']['pid']} to CPUs {','.join(map(str, step['cpus']))}"
        case "schedule":
            return f"set the scheduling policy of thread {step['thread']['pid']} to {step['policy']}"
        case "move":
            return f"move the members of {_group(step['from'])} to {_group(step['to'])}"
        case "kill":
            return f"kill the members of {_group(step['members'])}"
        case "shape":
            return f"set the shaper of {step['device']} to {step['rate'] / 1e6:g} Mbit/s"
        case "disconnect":
            return f"remove the network namespace {step['namespace']}"
    return shlex.join(step["command"])


def _group(file: str) -> str:
    return shlex.quote(str(Path(file).parent))
