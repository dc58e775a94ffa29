"""The longest permitted wake-up from idle states: a device that must stay open while the setting is in force.

Documentation/power/pm_qos_interface.rst of the kernel: the value is a 32-bit number of microseconds, and
closing the file ends the request, so that the kernel itself undoes it after a ``kill -9``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.notes import Note
from hindmost.core.targets import Managed
from hindmost.errors import HostUnfit

DEVICE = Path("/dev/cpu_dma_latency")
FREE = "free"


@dataclass(frozen=True)
class CpuDmaLatency(Idle):
    """Microseconds that a wake-up may take (0: no idle state), or ``free``."""

    name: str = "cpu_dma_latency"
    sets: frozenset[str] = frozenset({"host:cpu_dma_latency"})

    def microseconds(self, level: str) -> int | None:
        """Return the level as a number."""
        if level == FREE:
            return None
        if not level.isascii() or not level.isdigit() or int(level) > 2_000_000_000:
            raise refuse_level(
                self.name, level, "only free, or microseconds from 0 to 2000000000", most=2_000_000_000
            )
        return int(level)

    def check(self, level: str) -> None:  # noqa: D102
        if self.microseconds(level) is not None and (why := missing()):
            raise HostUnfit(
                why.code,
                f"{self.name} cannot be {level} here: {why}",
                hint="run as root",
                name=self.name,
                value=level,
                **why.values,
            )

    def before(self, level: str) -> AbstractContextManager[None]:  # noqa: D102
        limit_us = self.microseconds(level)
        return nullcontext() if limit_us is None else self._hold(limit_us)

    @contextmanager
    def _hold(self, limit_us: int) -> Iterator[None]:
        with DEVICE.open("r+b", buffering=0) as device:
            device.write(struct.pack("=i", limit_us))
            if (is_now := in_force()) != limit_us:
                raise HostUnfit(
                    "setting-differs",
                    f"{self.name} was set to {limit_us} µs, but {is_now} µs are in force: "
                    "another program requests less",
                    hint=f"fuser -v {DEVICE}",
                    name=self.name,
                    value=limit_us,
                    found=is_now,
                    unit="us",
                )
            yield


def in_force() -> int:
    """Return the limit from all requests together, in microseconds."""
    with DEVICE.open("rb", buffering=0) as device:
        value: int = struct.unpack("=i", device.read(4))[0]
    return value


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> CpuDmaLatency:
    """Make the setting ``cpu_dma_latency = true``."""
    return CpuDmaLatency()


def missing() -> Note | None:
    """Return why the device cannot be used."""
    if not DEVICE.exists():
        return Note("setting-unavailable", f"there is no {DEVICE}", {"path": str(DEVICE)})
    if os.access(DEVICE, os.R_OK | os.W_OK):
        return None
    return Note("needs-root", f"only root may open {DEVICE}", {"path": str(DEVICE)})
