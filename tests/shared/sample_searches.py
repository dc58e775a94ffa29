"""Steps and documents of rate searches."""

from __future__ import annotations

from typing import Any

from hindmost.commands.measure.search.document import Outcome, Search, Step


def make_step(rate: float, outcome: Outcome = "holds", us: float | None = 400.0, **changes: Any) -> Step:
    fields: dict[str, Any] = {
        "low_us": None if us is None else 0.9 * us,
        "high_us": None if us is None else 1.1 * us,
        "runs": 5,
        "achieved_per_s": rate,
        "why": f"because; at {rate:g}",
        "study": f"steps/{rate:g}",
    }
    return Step(rate_per_s=rate, outcome=outcome, value_us=us, **fields | changes)


def make_search(*steps: Step, **changes: Any) -> Search:
    fields: dict[str, Any] = {
        "schema": "hindmost.search/1",
        "created": "2026-01-02T03:04:05Z",
        "objective": "p99<500us",
        "finished": True,
        "headline": "p99<500us holds up to 20,000 requests/s",
        "rate_per_s": 20_000.0,
        "not_at_per_s": 40_000.0,
        "low_per_s": 19_000.0,
        "high_per_s": 26_000.0,
        "confidence": 0.9,
    }
    return Search(steps=steps, **fields | changes)
