"""Suspects in hardware settings: CPU frequency, turbo, device interrupts, memory on another NUMA node."""

from __future__ import annotations

import collections
import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.core.interventions.changes import File, Places, cpu_list, places
from hindmost.core.interventions.file_set import FileSet
from hindmost.core.targets.cpus import parse_cpus

if TYPE_CHECKING:
    from hindmost.core.interventions.changes import Intervention
    from hindmost.core.interventions.policy import Touch

ROOT = Path("/")
BUSY_IRQ = 100.0
"""Interrupts per second. Fewer do not delay the application noticeably."""
LOOK_S = 0.5
FAR = 0.6
"""Share of the application's memory on a node where its threads may not run, from which NUMA is a suspect."""

Offer = tuple["Touch", "Intervention", Path | None]
"""The policy's word for it, the intervention, and a file that must be writable."""


def find_hardware(own: list[int], root: Path = ROOT) -> Iterator[Offer]:
    """Yield the hardware suspects of this machine.

    Parameters
    ----------
    own : list of int
        The application's processes.
    root : Path
        Root of the file system; tests pass their own.
    """
    for each in (_frequency(root), _turbo(root), _interrupts(own, root), _memory(own, root)):
        yield from each


def read_setting(path: Path) -> str | None:
    """Return the text of a file of the kernel; None if it does not exist or may not be read."""
    with contextlib.suppress(OSError):
        return path.read_text(encoding="ascii").strip()
    return None


def _frequency(root: Path) -> Iterator[Offer]:
    """CPUs that may not run at full speed because of a frequency cap or a power-saving governor."""
    caps, governors = [], []
    for policy in sorted((root / "sys/devices/system/cpu/cpufreq").glob("policy*")):
        most, cap = read_setting(policy / "cpuinfo_max_freq"), read_setting(policy / "scaling_max_freq")
        if most and cap and int(cap) < int(most):
            caps.append(File("cap", "lift it", policy / "scaling_max_freq", cap, most))
        governor = read_setting(policy / "scaling_governor")
        able = (read_setting(policy / "scaling_available_governors") or "").split()
        if governor and governor != "performance" and "performance" in able:
            governors.append(File("governor", "set it", policy / "scaling_governor", governor, "performance"))
    if caps:
        description = f"lift the cap of {len(caps)} CPUs from {caps[0].found} to {caps[0].wanted} kHz"
        yield "frequency", FileSet("frequency cap", description, tuple(caps)), caps[0].path
    if governors:
        description = f"change the governor of {len(governors)} CPUs from {governors[0].found} to performance"
        yield "frequency", FileSet("frequency governor", description, tuple(governors)), governors[0].path


def _turbo(root: Path) -> Iterator[Offer]:
    for place, off, on in (("intel_pstate/no_turbo", "1", "0"), ("cpufreq/boost", "0", "1")):
        path = root / "sys/devices/system/cpu" / place
        if read_setting(path) == off:
            yield "frequency", File("turbo", f"allow it ({place} {off} to {on})", path, off, on), path


def _interrupts(own: list[int], root: Path) -> Iterator[Offer]:
    """Busy device interrupts handled on the application's CPUs that could be handled elsewhere."""
    home = frozenset().union(*places(own).values()) if own else frozenset()
    online = frozenset(os.sched_getaffinity(0))
    elsewhere = online - home
    if not home or not elsewhere:
        return
    before = _counts(root)
    time.sleep(LOOK_S)
    parts = []
    for number, counts in _counts(root).items():
        grown = [now - then for now, then in zip(counts, before.get(number, counts), strict=False)]
        here = sum(count for cpu, count in enumerate(grown) if cpu in home)
        path = root / f"proc/irq/{number}/smp_affinity_list"
        found = read_setting(path)
        if here / LOOK_S >= BUSY_IRQ and found:
            parts.append(File(f"irq {number}", "move it", path, found, cpu_list(set(elsewhere))))
    if parts:
        numbers = ", ".join(part.name.split()[1] for part in parts)
        description = f"handle interrupts {numbers} on CPUs {cpu_list(set(elsewhere))}"
        yield "interrupts", FileSet("interrupts of devices", description, tuple(parts)), parts[0].path


def _counts(root: Path) -> dict[str, list[int]]:
    """Return the device interrupts so far, by interrupt number and CPU."""
    lines = (read_setting(root / "proc/interrupts") or "").splitlines()
    width = len(lines[0].split()) if lines else 0
    found = {}
    for line in lines[1:]:
        number, _, rest = line.partition(":")
        if number.strip().isdigit():
            found[number.strip()] = [int(word) for word in rest.split()[:width] if word.isdigit()]
    return found


def _memory(own: list[int], root: Path) -> Iterator[Offer]:
    """Memory on a node where the application may not run; the intervention moves its threads to that node."""
    nodes = {}
    for folder in (root / "sys/devices/system/node").glob("node[0-9]*"):
        if cpus := read_setting(folder / "cpulist"):
            nodes[int(folder.name[4:])] = frozenset(parse_cpus(cpus))
    if len(nodes) < 2:
        return
    pages: collections.Counter[int] = collections.Counter()
    for pid in own:
        for node, count in re.findall(r"\bN(\d+)=(\d+)", read_setting(root / f"proc/{pid}/numa_maps") or ""):
            pages[int(node)] += int(count)
    now = places(own)
    home = frozenset().union(*now.values()) if now else frozenset()
    for node, count in pages.most_common(1):
        there = nodes.get(node, frozenset())
        if count >= FAR * pages.total() and there and not there & home:
            share = count / pages.total()
            description = f"run on the CPUs of node {node}, where {share:.0%} of its memory is"
            yield "numa", Places("memory on another node", description, now, there), None
