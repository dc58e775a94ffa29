"""Parts of the tiny study of the unit tests."""

from __future__ import annotations

import json
from pathlib import Path

from hindmost import MeasurePlan
from hindmost.core.fleet import Moment
from hindmost.core.run.figures import RunFigures
from hindmost.stats import Decision

HOST = {"facts": {"cpus_online": 2}, "findings": []}


class Diary:
    """An observer that records its calls."""

    def __init__(self) -> None:
        self.began: list[tuple[int, int, int]] = []
        self.phases: list[str] = []
        self.ended: list[tuple[int, Decision]] = []

    def run_begins(self, number: int, least: int, most: int) -> None:
        self.began.append((number, least, most))

    def moment(self, moment: Moment) -> None:
        self.phases.append(moment.phase)

    def run_ended(self, figures: RunFigures, decision: Decision, aside: str | None) -> None:
        self.ended.append((figures.number, decision))


def tiny_plan() -> MeasurePlan:
    return MeasurePlan(
        target="synth",
        rate_per_s=2_000.0,
        clients=2,
        connections=4,
        pacing="sleep",
        runs=(2, 2),
        duration_s=0.3,
        warmup=0.2,
        calibration_s=0.1,
        timeout_s=1.0,
        samples=200,
        remake=0.0,
        worst=20,
        workload={"kind": "key-value", "keys": 100, "get_ratio": 0.8},
    )


def rewrite(path: Path, change: dict[str, object]) -> None:
    """Change some keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
