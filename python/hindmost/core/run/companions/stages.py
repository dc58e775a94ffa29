"""The trace of a run's stages, if requested: ``trace.json`` in the run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from hindmost.core.plan import MeasurePlan
from hindmost.core.run.companions.companion import Companion, Scene
from hindmost.core.store import manifest
from hindmost.core.store.estimates import encode
from hindmost.errors import TargetError

if TYPE_CHECKING:
    from hindmost.core.tracing.document import Trace
    from hindmost.core.tracing.tracing import RunningTrace

FILE = "trace.json"


class StageTrace(Companion):
    """Traces the server's requests through the kernel from the order to measure to the last reply."""

    name = "trace"
    _running: RunningTrace

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._document: Trace | None = None

    @classmethod
    def applies_to(cls, plan: MeasurePlan) -> bool:
        """Apply with ``--trace``."""
        return plan.trace

    def enter(self, stack: ExitStack) -> None:
        """Refuse untraceable servers before any load; detach at the end."""
        from hindmost.core.tracing.server import local_server
        from hindmost.core.tracing.tracing import RunningTrace, TraceRequest

        port = self.scene.address.rpartition(":")[2]
        if self.scene.pid is None or not port.isdecimal():
            raise TargetError(
                "cannot-trace",
                f"{self.scene.address} cannot be traced: its process runs elsewhere, or it has no port",
                hint="leave out --trace, or run hindmost trace on the server's own machine",
                address=self.scene.address,
            )
        server = local_server(self.scene.pid, int(port), self.scene.protocol)
        self._running = RunningTrace(TraceRequest(server, duration_s=self.scene.seconds, who=True))
        stack.callback(self._running.abort)

    def before_measurement(self, ports: Sequence[int]) -> None:
        """Attach the tracer."""
        self._running.start()

    def after_measurement(self) -> None:
        """Detach the tracer and keep its document."""
        self._document = self._running.end()

    def record(self) -> dict[str, Any]:
        """Write the document and return its summary."""
        document = self._document
        if document is None:
            return {}
        (self.scene.folder / FILE).write_text(encode(document), encoding="utf-8")
        culprits = [] if document.who is None else document.who.culprits
        return {
            "trace": manifest.StageTrace(
                file=FILE,
                requests=document.all.requests,
                matched=document.matched,
                by_variance=document.critical.by_variance,
                by_mean=document.critical.by_mean,
                culprit=culprits[0].who.name if culprits else None,
            )
        }
