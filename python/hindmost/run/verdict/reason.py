"""What a judgement looks at and what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.run.set_aside import Parted
from hindmost.stats import Decision, Ownership
from hindmost.store import types as documents

STOOD_STILL = "stood_still"
"""A reason that the headline tells first: what is seen elsewhere followed from it."""
Level = Literal["invalid", "inconclusive", "mind"]
Origin = Literal["host", "client", "server"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One finding.

    ``labels``: the quantiles it concerns; empty means the whole measurement. ``origin``: where it comes from,
    if its code does not tell (`cause.ORIGINS`). ``brief``: how another finding's line names it. ``values``: the
    parameters of the sentence, for programs.
    """

    code: str
    level: Level
    text: str
    hint: str | None = None
    labels: tuple[str, ...] = ()
    origin: Origin | None = None
    brief: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> documents.Reason:
        """As it stands in ``result.json``."""
        return {
            "code": self.code,
            "level": self.level,
            "text": self.text,
            "hint": self.hint,
            "labels": list(self.labels),
            "values": dict(self.values),
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a judgement may look at; ``runs`` are those that count, of those that were ``made``."""

    plan: MeasurePlan
    target: Mapping[str, Any]
    runs: Sequence[RunFigures]
    decision: Decision
    owner: Ownership
    findings: Sequence[Mapping[str, Any]]
    again: str = "hindmost measure --resume STUDY"
    """The command that goes on with the study, or with the whole that it is a part of."""
    proof: Mapping[str, Any] | None = None
    parted: Parted | None = None
    made: Sequence[RunFigures] = ()


def mean(values: Sequence[float]) -> float:
    """The mean of what is there."""
    return sum(values) / len(values)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["p50", "p95", "p99"])
    'p50, p95 and p99'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
