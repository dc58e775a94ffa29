"""Sets of CPUs as users write them: ``"0-3,5"`` or ``[0, 1, 2, 3, 5]``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hindmost.errors import ArgumentError

MAX_CPU = 8191  # CONFIG_NR_CPUS goes to 8192 on x86


def parse_cpus(value: object) -> list[int]:
    """Turn a CPU list (the kernel's format, ``cpuset(7)``) or a list of numbers into sorted numbers.

    Raises
    ------
    ArgumentError
        If it is empty, malformed, or names a CPU twice.

    Examples
    --------
    >>> parse_cpus("0-2,5")
    [0, 1, 2, 5]
    """
    if isinstance(value, str):
        numbers: list[int] = []
        for part in value.split(","):
            match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part, re.ASCII)
            if match is None:
                raise ArgumentError(
                    "bad-value",
                    f'{part.strip()!r} is not a CPU or a range of CPUs; write "0-3,5"',
                    value=value,
                )
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first:
                raise ArgumentError("bad-value", f"the range {part.strip()} runs backwards", value=value)
            if last > MAX_CPU:
                raise ArgumentError("bad-value", f"CPU {last} is above {MAX_CPU}", value=value, most=MAX_CPU)
            numbers.extend(range(first, last + 1))
    elif isinstance(value, list | tuple) and all(type(cpu) is int for cpu in value):
        numbers = list(value)
    else:
        raise ArgumentError(
            "bad-value", f'{value!r} is not a set of CPUs; write "0-3,5" or [0, 1, 2, 3, 5]', value=value
        )
    if not numbers:
        raise ArgumentError(
            "bad-value", "no CPU is named; leave the key out to use any", value=value, least=1
        )
    if len(set(numbers)) != len(numbers):
        raise ArgumentError("duplicate-name", "a CPU is named twice", value=value)
    if min(numbers) < 0 or max(numbers) > MAX_CPU:
        raise ArgumentError("bad-value", f"a CPU is outside 0..{MAX_CPU}", value=value, least=0, most=MAX_CPU)
    return sorted(numbers)


def format_cpus(cpus: Iterable[int]) -> str:
    """Write CPUs in the short form.

    Examples
    --------
    >>> format_cpus([0, 1, 2, 5])
    '0-2,5'
    """
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
