"""The daemon, as it is asked for; the loop is the engine's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.errors import HindmostError, TargetError
from hindmost.targets.procfs import local_owner
from hindmost.watch.application import Application
from hindmost.watch.latency import LatencySource


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What is to be watched, and how.

    Attributes
    ----------
    ring : Path or None
        The file; without it nothing is kept.
    ring_bytes : int
        Its size.
    period_s : float
        From sample to sample.
    budget : float
        Share of one processor that collectors may use.
    port : int or None
        On loopback, for the page and Prometheus; 0: a free one.
    samples : int or None
        Until it ends; None: until it is told to.
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
        """As the engine has it (JSON text)."""
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
    """Watch until told to end (SIGINT, SIGTERM), or the application has ended.

    An application that was named by its address or cgroup is watched on when it is started again.

    Parameters
    ----------
    on_ready : callable
        Called with the page's address (None: there is none) before the first sample.

    Returns
    -------
    dict
        ``samples``, ``ring_bytes``, ``cpu_us``, why it ``ended`` (a value of `ENDINGS`), and the cost of each
        of its ``collectors``.

    Raises
    ------
    TargetError
        There is nothing to watch, or no latency from there.
    HindmostError
        The ring cannot be made or written, or another watch writes it.
    """
    address = request.application.address

    def successor() -> int | None:
        return None if address is None else local_owner(address)

    try:
        done: dict[str, Any] = json.loads(_engine.watch(request.document, on_ready, successor))
    except _engine.EngineError as error:
        raise told(
            error,
            pid=request.application.pid,
            path=None if request.ring is None else str(request.ring),
        ) from None
    done["ended"] = ENDINGS.get(done["ended"], done["ended"])
    return done


ENDINGS = {
    "the application has ended": "application-ended",
    "as many samples as asked for": "samples-taken",
    "told to": "stopped",
}
"""Why a watch ended, as a code, by what the engine calls it."""
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
"""Code and hint of each refusal of the engine's watch, by the engine's own code."""


def told(error: _engine.EngineError, **fields: Any) -> HindmostError:  # noqa: ANN401
    """Turn the engine's refusal into an error with a code, a hint, and these fields."""
    engine_code, message = error.args
    code, hint = REFUSALS.get(engine_code, (engine_code, None))
    kind = TargetError if engine_code in ("gone", "latency") else HindmostError
    return kind(code, message, hint=hint, **fields)
