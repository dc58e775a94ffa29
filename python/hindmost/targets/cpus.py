"""Sets of processors as people write them: ``"0-3,5"`` or ``[0, 1, 2, 3, 5]``."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CPU = 8191  # CONFIG_NR_CPUS goes to 8192 on x86


def parse_cpus(value: object) -> list[int]:
    """Turn a CPU list (the kernel's format, ``cpuset(7)``) or a list of numbers into sorted numbers.

    Raises
    ------
    ValueError
        If it is empty, malformed, or names a processor twice.

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
                raise ValueError(f'{part.strip()!r} is not a processor or a range; write "0-3,5"')
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first:
                raise ValueError(f"the range {part.strip()} runs backwards")
            if last > MAX_CPU:
                raise ValueError(f"processor {last} is beyond {MAX_CPU}")
            numbers.extend(range(first, last + 1))
    elif isinstance(value, list | tuple) and all(type(cpu) is int for cpu in value):
        numbers = list(value)
    else:
        raise ValueError(f'{value!r} is not a set of processors; write "0-3,5" or [0, 1, 2, 3, 5]')
    if not numbers:
        raise ValueError("no processor is named; leave the key out to use any")
    if len(set(numbers)) != len(numbers):
        raise ValueError("a processor is named twice")
    if min(numbers) < 0 or max(numbers) > MAX_CPU:
        raise ValueError(f"a processor is outside 0..{MAX_CPU}")
    return sorted(numbers)


def format_cpus(cpus: Iterable[int]) -> str:
    """Write processors the short way.

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
