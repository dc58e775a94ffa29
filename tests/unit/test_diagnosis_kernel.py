"""Suspects in settings of the kernel, on a made-up /sys and /proc; the files are really written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from undoing import undo

from hindmost.commands.diagnose import kernel
from hindmost.commands.diagnose.kernel import find_kernel_settings
from hindmost.core.interventions.policy import Policy

THP = "sys/kernel/mm/transparent_hugepage/defrag"
CLOCK = "sys/devices/system/clocksource/clocksource0"


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cgroup of the application, below the other files."""
    folder = tmp_path / "group"
    folder.mkdir()
    monkeypatch.setattr(kernel, "groups", lambda *_: [(folder, True)])
    return folder


@pytest.fixture(autouse=True)
def count_stalls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two allocations wait for compaction between the readings of a counter."""
    monkeypatch.setattr(
        kernel.time, "sleep", lambda _: write_files(tmp_path, {"proc/vmstat": "compact_stall 9"})
    )


@pytest.mark.parametrize(
    ("files", "touch", "name", "path", "found", "wanted"),
    [
        (
            {THP: "always defer [madvise] never", "proc/vmstat": "compact_stall 7"},
            *("compaction", "memory compaction", THP, "madvise", "never"),
        ),
        (
            {f"{CLOCK}/current_clocksource": "hpet", f"{CLOCK}/available_clocksource": "tsc hpet"},
            *("clock", "clock source", f"{CLOCK}/current_clocksource", "hpet", "tsc"),
        ),
        (
            {"proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t65536"},
            *("buffers", "socket buffers (tcp_wmem)", "proc/sys/net/ipv4/tcp_wmem"),
            *("4096\t16384\t65536", "4096 16384 4194304"),
        ),
        (
            {"group/memory.high": "1048576", "group/memory.events": "low 0\nhigh 12\nmax 0"},
            *("memory", "memory limit of group", "group/memory.high", "1048576", "max"),
        ),
        (
            {"group/io.max": "8:0 rbps=1048576 wbps=max riops=max wiops=100"},
            *("io", "disk limit of group", "group/io.max"),
            *("8:0 rbps=1048576 wbps=max riops=max wiops=100", "8:0 rbps=max wbps=max riops=max wiops=max"),
        ),
        (
            {"group/blkio.throttle.read_bps_device": "8:0 1048576"},
            *("io", "disk limit of group", "group/blkio.throttle.read_bps_device"),
            *("8:0 1048576", "8:0 0"),
        ),
    ],
)
def test_a_setting_is_lifted_and_restored(
    tmp_path: Path,
    group: Path,
    files: dict[str, str],
    touch: str,
    name: str,
    path: str,
    found: str,
    wanted: str,
) -> None:
    write_files(tmp_path, files)
    ((word, suspect, file),) = find_kernel_settings(os.getpid(), tmp_path)
    assert (word, suspect.name, file) == (touch, name, tmp_path / path)
    suspect.remove()
    assert file is not None
    assert file.read_text().strip() == wanted
    assert suspect.is_gone()
    suspect.give_back()
    assert file.read_text().strip() == found
    suspect.remove()
    undo(suspect)
    assert file.read_text().strip() == found


@pytest.mark.parametrize(
    "files",
    [
        {THP: "always defer madvise [never]", "proc/vmstat": "compact_stall 7"},
        {THP: "always defer [madvise] never", "proc/vmstat": "compact_stall 9"},
        {f"{CLOCK}/current_clocksource": "tsc", f"{CLOCK}/available_clocksource": "tsc hpet"},
        {f"{CLOCK}/current_clocksource": "hpet", f"{CLOCK}/available_clocksource": "hpet"},
        {"proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304"},
        {"group/memory.high": "max", "group/memory.events": "high 12"},
        {"group/memory.high": "1048576", "group/memory.events": "high 0"},
        {"group/io.max": ""},
    ],
)
def test_a_setting_that_delays_nobody_is_no_suspect(
    tmp_path: Path, group: Path, files: dict[str, str]
) -> None:
    assert list(find_kernel_settings(os.getpid(), write_files(tmp_path, files))) == []


def test_the_clock_is_changed_only_if_a_policy_names_it() -> None:
    assert Policy().allows("clock", 3) is not None
    assert Policy(may=["clock"]).allows("clock", 3) is None
    assert Policy().allows("memory", 3) is None
