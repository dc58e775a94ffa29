"""What a trial is asked to do, and its study, new or to go on with."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.documents import parse_toml
from hindmost.errors import UsageError
from hindmost.knobs import KINDS, Knob, kind_of, knob_of
from hindmost.knobs.force import refuse_words
from hindmost.knobs.journal import FOLDER
from hindmost.plan import MeasurePlan
from hindmost.plan.levels import numbers_of, parse_levels, refine_levels
from hindmost.run.readings import plan_of
from hindmost.run.request import MeasureRequest
from hindmost.stats.runs.contrast import least_pairs
from hindmost.store import Study
from hindmost.studies.begin import begin
from hindmost.studies.rounds import Rounds, check_figure
from hindmost.targets import Managed, parse_target

SPARE = 2
"""Rounds more than decide at least: so many may be disturbed."""
AROUND = 3
"""Levels of a stage next to the present state: the best, and one between it and each neighbour."""
MOST_REFINED = 6
"""Halving six times leaves a sixtieth of the distance to the neighbours: less than runs can tell apart."""


def allowed(comparisons: int = 1) -> Rounds:
    """Rounds of a trial that compares so many levels with the present state.

    The more there are, the likelier one is better by chance: the intervals of all have to hold together, and
    each needs more rounds.
    """
    least = least_pairs(comparisons)
    against = f" when {comparisons} levels are compared with the present state" if comparisons > 1 else ""
    return Rounds("--pairs", least, f"fewer decide nothing{against}", f"--pairs {least + SPARE}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is tried.

    Attributes
    ----------
    plan : MeasurePlan
        Of one run.
    what : mapping
        The knob, as a factor's table in a study file has it.
    levels : tuple of str
        The first is the present state; those between the best and its neighbours come last.
    by : str
        The figure that is to be low: ``mean`` or a percentile.
    refine : int
        How often levels about the best one are tried.
    stages : tuple of tuple of int
        Places of the levels that share rounds, stage by stage: all that were asked for, then those about the
        best, which the present state and the best itself are tried next to again. Empty: all, in one.
    """

    plan: MeasurePlan
    what: Mapping[str, Any]
    levels: tuple[str, ...]
    by: str
    refine: int = 0
    stages: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.stages:
            object.__setattr__(self, "stages", (tuple(range(len(self.levels))),))

    @property
    def comparisons(self) -> int:
        """How often a level is compared with the present state, refinements included."""
        return len(self.stages[0]) - 1 + AROUND * self.refine

    def refined(self, best: int, fits: Callable[[str], bool] = lambda _: True) -> Asked | None:
        """With one more stage about the best level; None where no level that fits is left between."""
        new = [level for level in refine_levels(self.levels, best) if fits(level)]
        if not new:
            return None
        places = range(len(self.levels), len(self.levels) + len(new))
        stage = tuple(dict.fromkeys((0, best, *places)))
        return replace(self, levels=(*self.levels, *new), stages=(*self.stages, stage))

    @property
    def target(self) -> Managed:
        """The server, which each run starts anew."""
        found = parse_target(self.plan.target)
        if not isinstance(found, Managed):
            raise UsageError(
                "needs-managed-target",
                f"{self.plan.target} runs already, but a trial starts the server again for each level",
                hint="name a preset (memcached, nginx, ...) or a target file that says how to start it",
                target=self.plan.target,
            )
        return found

    def knob(self, journal: Path = FOLDER) -> Knob:
        """The knob, to be set."""
        return knob_of(kind_of(self.what, "--set"), self.what, self.target, journal)

    def manifest(self) -> dict[str, Any]:
        """As a study's manifest keeps it."""
        return {
            "what": dict(self.what),
            "levels": list(self.levels),
            "by": self.by,
            "refine": self.refine,
            "stages": [list(places) for places in self.stages],
        }

    @classmethod
    def of(cls, study: Study, plan: MeasurePlan) -> Asked:
        """Read it from a study."""
        found = study.manifest["trial"]
        # Studies of before could not be refined.
        stages = tuple(tuple(places) for places in found.get("stages", ()))
        return cls(plan, found["what"], tuple(found["levels"]), found["by"], found.get("refine", 0), stages)


def opened(
    request: MeasureRequest,
    knob: str,
    levels: str,
    rounds: int | None = None,
    by: str = "p99",
    out: Path | None = None,
    refine: int = 0,
) -> Study:
    """A new study.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    HostUnfit
        If a level cannot be had on this host.
    """
    what, wanted = parse_knob(knob), parse_levels(levels)
    _check_refining(refine, wanted)
    comparisons = len(wanted) - 1 + AROUND * refine
    count = least_pairs(comparisons) + SPARE if rounds is None else allowed(comparisons).checked(rounds)
    plan = replace(request, runs=str(count)).plan()
    check_figure(by, plan)
    asked = Asked(plan, what, wanted, by, refine)
    made = asked.knob()
    if plan.server_host is not None:  # that host checks them
        refuse_words(asked.what, "--set")
    else:
        for level in asked.levels:
            made.check(level)
    return begin(plan, out, "trial", trial=asked.manifest())


def reopened(folder: Path, rounds: int | None) -> Study:
    """A study to go on with as it was begun; only the number of rounds may change."""
    study = Study.open(folder)
    comparisons = Asked.of(study, plan_of(study)).comparisons if "trial" in study.manifest else 1
    return allowed(comparisons).reopened(folder, "trial", rounds)


def _check_refining(refine: int, levels: tuple[str, ...]) -> None:
    if not 0 <= refine <= MOST_REFINED:
        raise UsageError(
            "bad-value",
            f"--refine {refine} is not between 0 and {MOST_REFINED}",
            hint="--refine 2",
            option="--refine",
            value=refine,
            least=0,
            most=MOST_REFINED,
        )
    if refine and numbers_of(levels) is None:
        raise UsageError(
            "conflicting-options",
            f"--refine {refine} needs numbers of one unit, but the levels are {', '.join(levels)}",
            hint="--set NAME=0,10..160, or leave out --refine",
            option="--refine",
            value=refine,
            levels=list(levels),
        )


def parse_setting(text: str, request: MeasureRequest) -> tuple[str, str]:
    """Read ``--set``: a setting, as a factor of a study file has it, and its levels.

    A bare name is an option of the target, or else a setting of the host.

    Raises
    ------
    UsageError
        There are no levels.

    Examples
    --------
    >>> parse_setting("threads=4,1", MeasureRequest(target="memcached"))
    ('option = "threads"', '4,1')
    >>> parse_setting("thp=always,never", MeasureRequest(target="memcached"))
    ('knob = "thp"', 'always,never')
    >>> parse_setting('socket = "busy_poll" = 0,10..160', MeasureRequest(target="memcached"))
    ('socket = "busy_poll"', '0,10..160')
    """
    if found := re.fullmatch(r'\s*(\w+\s*=\s*(?:"(?:[^"\\]|\\.)*"|true|\d+|\[.*\]|\{.*\}))\s*=\s*(.+)', text):
        return found[1], found[2]
    name, equals, levels = (part.strip() for part in text.partition("="))
    if not (name and equals and levels):
        raise UsageError(
            "bad-value",
            f"--set {text!r} has no levels",
            hint="--set threads=4,1, the present level first",
            option="--set",
            value=text,
        )
    target = parse_target(request.target or "")
    known = {"threads", *target.spec.options} if isinstance(target, Managed) else set()
    return f'{"option" if name in known else "knob"} = "{name}"', levels


def parse_knob(text: str) -> dict[str, Any]:
    """Read what ``--set`` changes: the keys of a factor in a study file, without name and levels.

    >>> parse_knob('argument = "-o no_lru_maintainer"')
    {'argument': '-o no_lru_maintainer'}
    """
    try:
        found = parse_toml(f"factor = {{ {text} }}")["factor"]
    except tomllib.TOMLDecodeError as error:
        examples = "; ".join(kind.example.partition(", levels")[0] for kind in list(KINDS.values())[:3])
        raise UsageError(
            "bad-value",
            f"--set {text!r} cannot be read: {error}",
            hint=f"for example {examples}",
            option="--set",
            value=text,
        ) from None
    kind_of(found, "--set")
    return dict(found)
