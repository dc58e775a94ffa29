"""The processor model, for which rates, certificates and profiles are valid, and the choice of CPUs."""

from __future__ import annotations

import os
from pathlib import Path

from hindmost.commands.colocate.documents.profiles import Processor
from hindmost.errors import HostUnfit, UsageError

_CPUINFO = Path("/proc/cpuinfo")


def read_processor(text: str | None = None) -> Processor:
    """Read the vendor, family, model and name of the processor.

    Parameters
    ----------
    text : str, optional
        Contents of ``/proc/cpuinfo``; read from the file by default.

    Examples
    --------
    >>> lines = ["vendor_id : AuthenticAMD", "cpu family : 25", "model : 17", "model name : AMD EPYC"]
    >>> read_processor(chr(10).join(lines)).model
    17
    """
    lines = (_CPUINFO.read_text(encoding="utf-8") if text is None else text).splitlines()
    found: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())

    def number(*keys: str) -> int:
        text = next((found[key] for key in keys if key in found), "0")
        return int(text, 0) if text.removeprefix("0x").isalnum() else 0

    return Processor(
        vendor=found.get("vendor_id", found.get("CPU implementer", "unknown")),
        family=number("cpu family", "CPU architecture"),
        model=number("model", "CPU part"),
        name=found.get("model name", "unknown"),
    )


def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may use, in order."""
    return sorted(os.sched_getaffinity(0))


def choose_cpu(cpu: int | None, option: str = "--cpu") -> int:
    """Return the requested CPU, or the last one, because interrupts prefer the first."""
    cpus = allowed_cpus()
    if cpu is None:
        return cpus[-1]
    if cpu not in cpus:
        raise UsageError(
            "bad-value",
            f"CPU {cpu} is not available: this process may use {', '.join(map(str, cpus))}",
            hint=f"{option} {cpus[-1]}",
            option=option,
            value=cpu,
            known=cpus,
        )
    return cpu


def choose_pair(cpu: int | None) -> tuple[int, int]:
    """Return the CPU of the program, and the nearest other one by number, for stressors."""
    cpus = allowed_cpus()
    if len(cpus) < 2:
        raise HostUnfit(
            "few-processors",
            "this machine has one CPU, so nothing can run next to a program. `colocate stressors` and"
            " `colocate predict` work with one",
            hint="use a machine or container with 2 or more CPUs",
            have=len(cpus),
            need=2,
        )
    mine = choose_cpu(cpu)
    return mine, min((one for one in cpus if one != mine), key=lambda one: abs(one - mine))


def choose_spare(cpus: tuple[int, int]) -> int:
    """Return a CPU for a probe: outside the pair if there is one, else the second of the pair."""
    return next((one for one in allowed_cpus() if one not in cpus), cpus[1])
