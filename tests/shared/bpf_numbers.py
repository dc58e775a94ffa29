"""What the kernel holds of BPF: programs, and links, which attach them."""

import ctypes
from pathlib import Path

_BPF, _NEXT_PROGRAM = 321, 11
"""bpf(2) on x86-64, which is where requests can be traced, and its command BPF_PROG_GET_NEXT_ID."""


def programs() -> set[int]:
    """Numbers of all programs of the host."""
    libc = ctypes.CDLL(None, use_errno=True)
    found, at = set(), 0
    while True:
        words = (ctypes.c_uint32 * 3)(at, 0, 0)
        if libc.syscall(_BPF, _NEXT_PROGRAM, ctypes.byref(words), ctypes.sizeof(words)) != 0:
            return found
        at = words[1]
        found.add(at)


def held_by(pid: int, what: str) -> set[int]:
    """What a process has open: ``prog_id`` or ``link_id`` of proc_pid_fdinfo(5)."""
    found = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            lines = path.read_text().splitlines()
        except OSError:  # closed meanwhile
            continue
        if any(line.startswith("link_id:") for line in lines) and what != "link_id":
            continue
        found.update(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))
    return found
