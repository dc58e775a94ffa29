"""A seccomp filter that refuses system calls, as container runtimes do (seccomp(2))."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Callable, Sequence

NUMBERS = {
    "x86_64": {"sched_setaffinity": 203, "perf_event_open": 298, "bpf": 321, "io_uring_setup": 425},
    "aarch64": {"sched_setaffinity": 122, "perf_event_open": 241, "bpf": 280, "io_uring_setup": 425},
}
LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse_calls(names: Sequence[str]) -> Callable[[], None]:
    """Return a function for ``preexec_fn`` that makes these calls fail with EPERM in the new process."""
    known = NUMBERS[platform.machine()]
    numbers = [known[name] for name in names]
    rules = [(LOAD_NUMBER, 0, 0, 0)]
    for place, number in enumerate(numbers):
        rules.append((EQUAL, len(numbers) - place, 0, number))
    rules += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | errno.EPERM)]
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    libc = ctypes.CDLL(None, use_errno=True)

    def install() -> None:
        program = Program(len(rules), code)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
        ):
            raise OSError(ctypes.get_errno(), "seccomp")

    return install
