"""The longest wake-up from idle states that is allowed: a device that must be held open while it is in force.

Documentation/power/pm_qos_interface.rst of the kernel: a 32-bit number of microseconds is written; the
request ends when the file is closed, so that the kernel itself undoes it after a ``kill -9``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.errors import HostUnfit
from hindmost.knobs.knob import Idle, refuse_level
from hindmost.notes import Note
from hindmost.targets import Managed

DEVICE = Path("/dev/cpu_dma_latency")
FREE = "free"


@dataclass(frozen=True)
class CpuDmaLatency(Idle):
    """Microseconds that a wake-up may take (0: never sleep deeper than a pause), or ``free``."""

    name: str = "cpu_dma_latency"
    sets: frozenset[str] = frozenset({"host:cpu_dma_latency"})

    def microseconds(self, level: str) -> int | None:
        """The level as a number."""
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
        wanted = self.microseconds(level)
        return nullcontext() if wanted is None else self._held(wanted)

    @contextmanager
    def _held(self, wanted: int) -> Iterator[None]:
        with DEVICE.open("r+b", buffering=0) as device:
            device.write(struct.pack("=i", wanted))
            if (is_now := in_force()) != wanted:
                raise HostUnfit(
                    "setting-differs",
                    f"{self.name} was set to {wanted} µs, but {is_now} µs are in force: "
                    "another program asks for less",
                    hint=f"fuser -v {DEVICE}",
                    name=self.name,
                    value=wanted,
                    found=is_now,
                    unit="us",
                )
            yield


def in_force() -> int:
    """What all requests come to, in microseconds."""
    with DEVICE.open("rb", buffering=0) as device:
        value: int = struct.unpack("=i", device.read(4))[0]
    return value


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> CpuDmaLatency:
    """The knob ``cpu_dma_latency = true``."""
    return CpuDmaLatency()


def missing() -> Note | None:
    """Return why the device cannot be used."""
    if not DEVICE.exists():
        return Note("setting-unavailable", f"there is no {DEVICE}", {"path": str(DEVICE)})
    if os.access(DEVICE, os.R_OK | os.W_OK):
        return None
    return Note("needs-root", f"only root may open {DEVICE}", {"path": str(DEVICE)})
