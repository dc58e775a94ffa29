"""Result of a measurement: latency and isolated latency over runs, per run, per request."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from hindmost.core.results.frames import estimate_rows
from hindmost.core.results.result import Result
from hindmost.core.store.estimates import to_document
from hindmost.core.store.measure import Measure, Run
from hindmost.present.blocks import View


class MeasureResult(Result[Measure]):
    """Result of `hindmost.measure`."""

    TABLES = ("runs", "parts", "limits")

    @property
    def verdict(self) -> str:
        """``valid``, ``invalid`` (the instrument distorted the figures) or ``inconclusive``."""
        return self.document.verdict

    @property
    def runs(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per run: seed, verdict, why it is excluded, rates, counts; latency in microseconds."""
        return self._frame([_run(one) for one in self.document.runs])

    @property
    def limits(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per limit: ``held``, ``crossed`` or ``undecided``, the deciding figure, and why."""
        rows = [to_document(one) for one in self.document.limits or []]
        return self._frame(
            rows, *("limit", "figure", "result", "bound", "unit", "value", "low", "high", "text")
        )

    @property
    def parts(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """Service, send delay, wire, overhead, messages and sessions; columns as in `latency`."""
        found = {
            "service": self.document.service_us,
            "send_delay": self.document.send_delay_us,
            "wire": self.document.wire_us,
            "overhead": self.document.overhead_us,
            "first_message": self.document.first_message_us,
            "message_gap": self.document.message_gap_us,
            "session": self.document.session_us,
        }
        return self._frame([row for of, one in found.items() for row in estimate_rows(of, one or {})])

    def view(self) -> View:
        """Build the view that terminal, page and Markdown show."""
        from hindmost.commands.measure.view import view

        return view(self.document)

    def _latency(self) -> list[dict[str, Any]]:
        isolated = self.document.isolated
        return [
            *estimate_rows("latency", self.document.latency_us),
            *estimate_rows("isolated", isolated.latency_us if isolated else {}),
        ]


def _run(run: Run) -> dict[str, Any]:
    isolated = run.isolated
    row: dict[str, Any] = {
        name: getattr(run, name) for name in ("run", "seed", "started", "seconds", "verdict")
    }
    row |= {"excluded": run.excluded, "requested_per_s": run.throughput.requested}
    row |= {"achieved_per_s": run.throughput.achieved, **asdict(run.counts)}
    row |= {f"{label}_us": value for label, value in run.latency_us.items()}
    return row | {
        f"isolated_{label}_us": one.value for label, one in (isolated.isolated_us if isolated else {}).items()
    }
