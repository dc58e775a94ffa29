"""The request to the watch daemon; the engine has its loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.core.targets.procfs import local_owner
from hindmost.errors import HindmostError, TargetError


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What to watch, and how.

    Attributes
    ----------
    ring : Path or None
        File for the samples; None keeps no samples.
    ring_bytes : int
        Size of the ring file, bytes.
    period_s : float
        Time between samples, s.
    budget : float
        Fraction of one CPU that the collectors may use.
    port : int or None
        Loopback port for the page and Prometheus; 0 takes a free port.
    samples : int or None
        Number of samples to take; None watches until it is stopped.
    """

    application: Application
    ring: Path | None
    ring_bytes: int = 16 << 20
    period_s: float = 1.0
    budget: float = 0.0005
    latency: LatencySource | None = None
    port: int | None = None
    samples: int | None = None

    @property
    def document(self) -> str:
        """The request as JSON text for the engine."""
        return json.dumps(
            {
                "application": self.application.name,
                "pid": self.application.pid,
                "cgroup": self.application.cgroup,
                "follow": self.application.address is not None,
                "ring": None if self.ring is None else str(self.ring),
                "ring_bytes": self.ring_bytes,
                "period_ms": round(self.period_s * 1000),
                "budget_us": round(self.budget * 1e6),
                "latency": None if self.latency is None else self.latency.document,
                "serve": self.port,
                "samples": self.samples,
            }
        )


def watch(request: WatchRequest, on_ready: Callable[[str | None], None] = lambda _: None) -> dict[str, Any]:
    """Watch until SIGINT or SIGTERM, or until the application ends.

    If the application was named by its address or cgroup, the watch continues with its successor after a
    restart.

    Parameters
    ----------
    on_ready : callable
        Called with the page's address (None without a page) before the first sample.

    Returns
    -------
    dict
        ``samples``, ``ring_bytes``, ``cpu_us``, the reason it ``ended``, and the cost
        of each of its ``collectors``.

    Raises
    ------
    TargetError
        There is nothing to watch, or the latency source does not answer.
    HindmostError
        The ring cannot be created or written, or another watch writes it.
    """
    address = request.application.address

    def successor() -> int | None:
        return None if address is None else local_owner(address)

    try:
        summary: dict[str, Any] = json.loads(_engine.watch(request.document, on_ready, successor))
    except _engine.EngineError as error:
        raise translate_error(
            error,
            pid=request.application.pid,
            path=None if request.ring is None else str(request.ring),
        ) from None
    return summary


REFUSALS: dict[str, tuple[str, str | None]] = {
    "gone": ("no-such-process", None),
    "held": ("ring-in-use", "name another file: --ring FILE"),
    "ring": ("unwritable-file", "check free space (df -h), or name another file: --ring FILE"),
    "no-ring": ("bad-file", "hindmost watch show FILE.ring"),
    "latency": (
        "no-latency-source",
        "--probe 0 watches without a probe; --log FILE follows an access log",
    ),
    "serve": ("cannot-listen", "--port 0 takes a free port"),
    "config": ("bad-value", None),
}
"""Code and hint for each error of the engine's watch, by the engine's own code."""


def translate_error(error: _engine.EngineError, **fields: Any) -> HindmostError:  # noqa: ANN401
    """Turn an error of the engine into an exception with a code, a hint, and these fields."""
    engine_code, message = error.args
    code, hint = REFUSALS.get(engine_code, (engine_code, None))
    kind = TargetError if engine_code in ("gone", "latency") else HindmostError
    return kind(code, message, hint=hint, **fields)
