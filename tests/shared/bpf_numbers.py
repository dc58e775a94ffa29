"""Numbers of the kernel's BPF programs, and of the links that attach them."""

import ctypes
from pathlib import Path

_BPF, _NEXT_PROGRAM = 321, 11
"""bpf(2) on x86-64, the only architecture on which requests can be traced, and its command BPF_PROG_GET_NEXT_ID."""


def programs() -> set[int]:
    """Numbers of all programs on the host."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers, last = set(), 0
    while True:
        attributes = (ctypes.c_uint32 * 3)(last, 0, 0)
        if libc.syscall(_BPF, _NEXT_PROGRAM, ctypes.byref(attributes), ctypes.sizeof(attributes)) != 0:
            return numbers
        last = attributes[1]
        numbers.add(last)


def open_numbers(pid: int, kind: str) -> set[int]:
    """Numbers that a process holds open: ``prog_id`` or ``link_id`` of proc_pid_fdinfo(5)."""
    numbers = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            lines = path.read_text().splitlines()
        except OSError:  # closed meanwhile
            continue
        if any(line.startswith("link_id:") for line in lines) and kind != "link_id":
            continue
        numbers.update(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
    return numbers
