"""Records which process had a CPU, switch by switch, by a BPF program on the scheduler's tracepoint, for
comparison.

About forty instructions at ``sched_switch``, loaded by hand: each time slice of 20 us or more is written to a
ring with its begin, end and process. It sees every program of this system, but not the hypervisor.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

SHORTEST_NS = 20_000
RING_BYTES = 1 << 22
_BPF, _PAGE = 321, mmap.PAGESIZE
_ARRAY, _RINGBUF, _RAW_TRACEPOINT = 2, 27, 17
_CREATE, _LOAD, _OPEN = 0, 5, 17
_libc = ctypes.CDLL(None, use_errno=True)

Turn = tuple[int, int, int]
"""Begin and end in ns of the monotonic clock, and the process; 0 in its low half is the idle task."""


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    done = int(_libc.syscall(_BPF, command, buffer, 128))
    if done < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return done


def _program(cpu: int, last: int, ring: int) -> bytes:
    """Build the program; R7 is the time, R8 the process, R9 the begin of its time slice."""

    def one(code: int, dst: int = 0, src: int = 0, off: int = 0, value: int = 0) -> bytes:
        return struct.pack("<BBhi", code, src << 4 | dst, off, value)

    def call(function: int) -> bytes:
        return one(0x85, value=function)

    def map_of(dst: int, fd: int) -> bytes:
        return one(0x18, dst, 1, 0, fd) + one(0)

    body: list[bytes | tuple[str, int, int]] = [
        call(8),  # bpf_get_smp_processor_id
        ("jne", 0, cpu),
        call(5) + one(0xBF, 7, 0),  # bpf_ktime_get_ns
        call(14) + one(0xBF, 8, 0),  # bpf_get_current_pid_tgid
        one(0x62, 10, 0, -4, 0) + map_of(1, last) + one(0xBF, 2, 10) + one(0x07, 2, value=-4) + call(1),
        ("jeq", 0, 0),
        one(0x79, 9, 0) + one(0x7B, 0, 7),  # r9 = *last; *last = now
        ("jeq", 9, 0),
        one(0xBF, 1, 7) + one(0x1F, 1, 9),
        ("jlt", 1, SHORTEST_NS),
        one(0xBF, 2, 8) + one(0x67, 2, value=32) + one(0x77, 2, value=32),
        ("jeq", 2, 0),  # the idle task
        one(0x7B, 10, 9, -32) + one(0x7B, 10, 7, -24) + one(0x7B, 10, 8, -16),
        map_of(1, ring) + one(0xBF, 2, 10) + one(0x07, 2, value=-32),
        one(0xB7, 3, value=24) + one(0xB7, 4, value=1) + call(130),  # bpf_ringbuf_output, no wake-up
    ]
    end = one(0xB7, 0) + one(0x95)
    sizes = [1 if isinstance(part, tuple) else len(part) // 8 for part in body]
    out = b""
    for at, part in enumerate(body):
        if isinstance(part, tuple):
            code = {"jne": 0x55, "jeq": 0x15, "jlt": 0xA5}[part[0]]
            out += one(code, part[1], 0, sum(sizes[at + 1 :]), part[2])
        else:
            out += part
    return out + end


@contextmanager
def turns(cpu: int) -> Iterator[list[Turn]]:
    """Yield a list of time slices on `cpu`, which is filled at the end of the block."""
    opened: list[int] = []
    found: list[Turn] = []
    try:
        last = _bpf(_CREATE, struct.pack("<IIIII", _ARRAY, 4, 8, 1, 0))
        ring = _bpf(_CREATE, struct.pack("<IIIII", _RINGBUF, 0, 0, RING_BYTES, 0))
        opened += [last, ring]
        code = ctypes.create_string_buffer(program := _program(cpu, last, ring))
        gpl, log = ctypes.create_string_buffer(b"GPL"), ctypes.create_string_buffer(1 << 16)
        parts = (
            _RAW_TRACEPOINT,
            len(program) // 8,
            ctypes.addressof(code),
            ctypes.addressof(gpl),
            1,
            1 << 16,
        )
        try:
            opened.append(_bpf(_LOAD, struct.pack("<IIQQIIQ", *parts, ctypes.addressof(log))))
        except OSError as error:
            raise OSError(error.errno, log.value.decode()) from None
        name = ctypes.create_string_buffer(b"sched_switch")
        opened.append(_bpf(_OPEN, struct.pack("<QI", ctypes.addressof(name), opened[-1])))
        yield found
        found += _read(ring)
    finally:
        for fd in reversed(opened):
            os.close(fd)


def _read(ring: int) -> list[Turn]:
    with mmap.mmap(ring, _PAGE + 2 * RING_BYTES, mmap.MAP_SHARED, mmap.PROT_READ, offset=_PAGE) as told:
        produced = struct.unpack_from("<Q", told, 0)[0]
        found: list[Turn] = []
        at = 0
        while at < produced:
            length = struct.unpack_from("<I", told, _PAGE + at)[0] & 0x3FFFFFFF
            begin, end, who = struct.unpack_from("<QQQ", told, _PAGE + at + 8)
            found.append((begin, end, who >> 32))
            at += (length + 8 + 7) & ~7
        return found
