"""The input of a check and the reasons it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hindmost.core.plan import MeasurePlan
from hindmost.core.run.exclusion import Partition
from hindmost.core.run.figures import RunFigures
from hindmost.core.store import types as documents
from hindmost.core.store.measure import Capture
from hindmost.core.store.types import Target
from hindmost.stats import Decision, Ownership

SERVER_STALLED = "server-stalled"
"""A reason that the headline states first, because others follow from it."""
Level = Literal["invalid", "inconclusive", "note"]
Origin = Literal["host", "client", "server"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One finding.

    ``code``: one of `hindmost.core.codes.CODES`. ``labels``: the quantiles it concerns; empty means the
    whole measurement. ``origin``: its source, if its code does not say (`cause.ORIGINS`). ``brief``: its
    short form in another reason's line. ``values``: the parameters of the sentence, for programs.
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
        """Return the reason in the form it has in ``result.json``."""
        return documents.Reason(
            code=self.code,
            level=self.level,
            text=self.text,
            hint=self.hint,
            labels=list(self.labels),
            values=dict(self.values),
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a check may use; ``runs`` are the runs that count, of all that were ``made``."""

    plan: MeasurePlan
    target: Target
    runs: Sequence[RunFigures]
    decision: Decision
    owner: Ownership
    findings: Sequence[Mapping[str, Any]]
    again: str = "hindmost measure --resume STUDY"
    """The command that resumes the study, or the larger study that it is a part of."""
    proof: Capture | None = None
    partition: Partition | None = None
    made: Sequence[RunFigures] = ()


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum(values) / len(values)
