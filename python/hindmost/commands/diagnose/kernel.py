"""Suspects in settings of the kernel: memory and disk limits, compaction, the clock, socket buffers."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.commands.diagnose.hardware import ROOT, read_setting
from hindmost.core.interventions.changes import File
from hindmost.core.interventions.file_set import FileSet
from hindmost.core.interventions.groups import groups

if TYPE_CHECKING:
    from hindmost.commands.diagnose.hardware import Offer

LOOK_S = 0.5
"""Time between two readings of a counter, s."""
LEAST_BUFFER = 1 << 20
"""Largest socket buffer below which a buffer is a suspect, bytes."""
BUFFERS = {"tcp_rmem": 6_291_456, "tcp_wmem": 4_194_304}
"""Largest buffers of Linux by default, bytes (tcp(7))."""


def find_kernel_settings(pid: int, root: Path = ROOT) -> Iterator[Offer]:
    """Yield the suspects: the policy's word, the intervention, and a file that must be writable.

    Parameters
    ----------
    pid : int
        The application's topmost process.
    root : Path
        Root of the file system; tests pass their own.
    """
    for each in (_memory(pid), _disk(pid), _compaction(root), _clock(root), _buffers(pid, root)):
        yield from each


def _memory(pid: int) -> Iterator[Offer]:
    """``memory.high`` of the application's cgroups that made it reclaim memory (cgroup version 2)."""
    for group, _ in groups(pid, "memory"):
        path, events = group / "memory.high", read_setting(group / "memory.events") or ""
        found = read_setting(path)
        if found not in (None, "max") and (reached := re.search(r"^high ([1-9]\d*)$", events, re.MULTILINE)):
            about = f"lift memory.high of {group.name} from {found}, reached {reached[1]} times"
            yield "memory", File(f"memory limit of {group.name}", about, path, found, "max"), path


def _disk(pid: int) -> Iterator[Offer]:
    """``io.max`` (version 2) or ``blkio.throttle`` (version 1) of the application's cgroups."""
    for group, _ in groups(pid, "io"):
        path = group / "io.max"
        if found := read_setting(path):
            yield (
                "io",
                _device_limits(group, path, found, lambda limits: re.sub(r"=\S+", "=max", limits)),
                path,
            )
    for group, _ in groups(pid, "blkio"):
        for path in sorted(group.glob("blkio.throttle.*_device")):
            if found := read_setting(path):
                yield "io", _device_limits(group, path, found, lambda _: "0"), path


def _device_limits(group: Path, path: Path, found: str, lift: Callable[[str], str]) -> FileSet:
    """Build the change that lifts the limits of all devices in a file: it takes one line in each write."""
    parts = []
    for line in found.splitlines():
        device, limits = line.split(maxsplit=1)
        parts.append(DeviceLimit(path.name, "lift it", path, line, f"{device} {lift(limits)}"))
    about = f"lift {path.name} of {group.name} from {'; '.join(found.splitlines())}"
    return FileSet(f"disk limit of {group.name}", about, tuple(parts))


class DeviceLimit(File):
    """One device's line of a file with limits. The file does not show devices without limits."""

    def is_gone(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            return self.found not in self.path.read_text().splitlines()
        return False


def _compaction(root: Path) -> Iterator[Offer]:
    """Huge pages for which programs compact memory when they allocate it."""
    path = root / "sys/kernel/mm/transparent_hugepage/defrag"
    text = read_setting(path) or ""
    found = re.search(r"\[(\S+)\]", text)
    if not found or found[1] == "never":
        return
    before = _stalls(root)
    time.sleep(LOOK_S)
    if (stalls := _stalls(root) - before) > 0:
        about = f"stop compacting memory for huge pages (defrag {found[1]} to never; {stalls} stalls seen)"
        shown = text.replace(found[0], found[1]).replace("never", "[never]")
        yield "compaction", File("memory compaction", about, path, found[1], "never", (shown,)), path


def _stalls(root: Path) -> int:
    """Return how often an allocation has waited for compaction."""
    found = re.search(r"^compact_stall (\d+)$", read_setting(root / "proc/vmstat") or "", re.MULTILINE)
    return int(found[1]) if found else 0


def _clock(root: Path) -> Iterator[Offer]:
    """A clock that is read by a device or a hypercall, although the CPU's counter is usable."""
    folder = root / "sys/devices/system/clocksource/clocksource0"
    path, found = folder / "current_clocksource", read_setting(folder / "current_clocksource")
    if found not in (None, "tsc") and "tsc" in (read_setting(folder / "available_clocksource") or "").split():
        yield (
            "clock",
            File("clock source", f"read the CPU's counter ({found} to tsc)", path, found, "tsc"),
            path,
        )


def _buffers(pid: int, root: Path) -> Iterator[Offer]:
    """Socket buffers that cannot grow, in the application's network namespace if it is ours."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink():
            return
    for name, largest in BUFFERS.items():
        path = root / "proc/sys/net/ipv4" / name
        if (
            (found := read_setting(path))
            and len(sizes := found.split()) == 3
            and int(sizes[2]) < LEAST_BUFFER
        ):
            wanted = f"{sizes[0]} {sizes[1]} {largest}"
            about = f"let socket buffers grow ({name} {sizes[2]} to {largest} bytes)"
            yield (
                "buffers",
                File(f"socket buffers ({name})", about, path, found, wanted, (wanted.replace(" ", "\t"),)),
                path,
            )
