"""The resolved plan of an attribution study: settings, a design, a server to start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.commands.attribute.design import Cell, Design, Sequential
from hindmost.commands.attribute.scale import Smallest
from hindmost.core.knobs import Knob
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.factorial import StudyFile, read_study
from hindmost.core.plan.units import label, parse_quantiles
from hindmost.core.targets import Managed
from hindmost.errors import UsageError
from hindmost.stats import Factorial

CONFIDENCE = 0.95
"""Confidence of each effect's intervals, for all looks together."""


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One load; ``folder`` contains its cells."""

    name: str
    rate_per_s: float
    folder: str


@dataclass(frozen=True, slots=True)
class AttributionPlan:
    """Everything that determines what an attribution study does.

    Attributes
    ----------
    file : StudyFile
        The study file.
    measure : MeasurePlan
        How to make each run; its rate is the first load's.
    target : Managed or None
        The server; None for a study that is only read.
    knobs : tuple of Knob
        One setting for each factor, in the design's order; empty for a study that is only read.
    sets : tuple of (kind, what)
        Description of what each factor sets.
    blocks : (int, int)
        Fewest and most runs of each cell.
    control : Cell
        Cell that is run once more in each block.
    delta : Smallest
        The smallest effect that matters.
    """

    file: StudyFile
    measure: MeasurePlan
    target: Managed | None
    loads: tuple[LoadPoint, ...]
    knobs: tuple[Knob, ...]
    sets: tuple[tuple[str, str], ...]
    design: Design
    blocks: tuple[int, int]
    control: Cell
    delta: Smallest

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the requested quantiles."""
        return self.measure.labels

    @property
    def main_quantile(self) -> str:
        """The quantile that the recommended setting should lower: the requested one, or the highest."""
        quantile = self.file.confirm.quantile
        return self.labels[-1] if quantile is None else label(parse_quantiles(quantile)[0])

    @property
    def main_loads(self) -> tuple[LoadPoint, ...]:
        """The loads at which it should be low."""
        at = self.file.confirm.load
        return tuple(load for load in self.loads if at is None or load.name == at)

    @property
    def model(self) -> Factorial:
        """The terms that the design can estimate."""
        levels = {factor.name: len(factor.levels) for factor in self.design.factors}
        return Factorial(levels, [term for term in self.design.terms if term])

    @property
    def change_s(self) -> float:
        """Time to change all factors that are hard to change, s."""
        return sum(factor.change_s for factor in self.design.factors)

    @property
    def looks(self) -> Sequential:
        """The numbers of blocks after which to look at the effects, and the confidence of each look."""
        least, most = self.blocks
        return Sequential(first=max(2, least), most=max(2, most), confidence=CONFIDENCE)

    def confidence(self, blocks: int) -> float:
        """Return the confidence of intervals after this many blocks: that of the last scheduled look."""
        past = [look for look in self.looks.looks if look <= blocks]
        return self.looks.confidence_at(past[-1] if past else self.looks.looks[0])

    @property
    def run_s(self) -> float:
        """Time of warm-up, calibration and measurement of one run, s."""
        return self.measure.duration_s + float(self.measure.warmup) + self.measure.calibration_s

    def levels(self, cell: Cell) -> dict[str, str]:
        """Return a cell in the study file's words, such as ``{'threads': '1', 'huge pages': 'always'}``."""
        return self.design.setting(cell)

    def cell(self, levels: dict[str, str]) -> Cell:
        """Return the cell of named levels; other factors are at their first level."""
        return tuple(
            factor.levels.index(levels[factor.name]) if factor.name in levels else 0
            for factor in self.design.factors
        )


def folder_of(cell: Cell) -> str:
    """Return the folder of a cell's runs within its load's folder.

    >>> folder_of((0, 1, 0))
    '0-1-0'
    """
    return "-".join(str(level) for level in cell)


def load_points(file: StudyFile, rates: Sequence[float]) -> tuple[LoadPoint, ...]:
    """Return the loads with their rates and folders."""
    return tuple(
        LoadPoint(one.name, rate, f"{place}-{''.join(c if c.isalnum() else '-' for c in one.name)}")
        for place, (one, rate) in enumerate(zip(file.load, rates, strict=True), start=1)
    )


def refuse_clashes(names: Sequence[str], knobs: Sequence[Knob]) -> None:
    """Refuse two factors that set the same thing, because neither would keep its level.

    Raises
    ------
    UsageError
        Names both factors, and what they share.
    """
    owner: dict[str, str] = {}
    for name, knob in zip(names, knobs, strict=True):
        for what in sorted(knob.sets):
            if what in owner:
                raise UsageError(
                    "conflicting-factors",
                    f"factors {owner[what]!r} and {name!r} both set {what}, so neither would keep its level",
                    hint="make them one factor with more levels",
                    factors=[owner[what], name],
                    sets=what,
                )
            owner[what] = name


def same_study(before: dict[str, Any], now: StudyFile) -> list[str]:
    """Return which keys differ between a study's file and a new one, and must not.

    The numbers of blocks and repetitions, the budget and the confirmation may change.
    """
    left = {"design", "confirm", "delta", "scale", "name"}
    # Read both alike: a study of an earlier version lacks keys that have been added since.
    files = (read_study(before, "the stored study"), now)
    old, new = ({**one, "measure": _alike(one.get("measure", {}))} for one in map(_dump, files))
    changed = [key for key in new if key not in left and old.get(key) != new[key]]
    return changed + [
        f"design.{key}"
        for key in ("kind", "resolution", "forbidden", "control")
        if old["design"][key] != new["design"][key]
    ]


def _dump(file: StudyFile) -> dict[str, Any]:
    return file.model_dump(mode="json")


def _alike(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``hindmost measure`` that must stay the same for all runs."""
    return {name: value for name, value in options.items() if name != "remake"}
