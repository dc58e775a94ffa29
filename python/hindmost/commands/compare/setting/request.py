"""The request to compare levels of a setting, and its study, new or resumed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.commands.compare.rounds import PairLimits, check_figure
from hindmost.core.documents import parse_toml
from hindmost.core.knobs import KINDS, Knob, kind_of, knob_of
from hindmost.core.knobs.force import refuse_words
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.levels import numbers_of, parse_levels, refine_levels
from hindmost.core.run.readings import plan_of
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.study.begin import begin
from hindmost.core.targets import Managed, parse_target
from hindmost.errors import UsageError
from hindmost.stats.runs.contrast import least_pairs

SPARE = 2
"""Rounds beyond the least number that can decide, in case interference excludes some."""
NEAR_BEST = 3
"""Levels of a later stage next to the present one: the best, and one between it and each neighbour."""
MOST_REFINED = 6
"""Halving six times leaves a sixtieth of the distance to the neighbours, less than runs can resolve."""


def pair_limits(comparisons: int = 1) -> PairLimits:
    """Return the limits of ``--pairs`` for this number of comparisons with the present level.

    More levels need more rounds, because all intervals together must hold at 95 %.
    """
    least = least_pairs(comparisons)
    against = f" when {comparisons} levels are compared with the present level" if comparisons > 1 else ""
    return PairLimits(least, f"fewer pairs decide nothing{against}", f"--pairs {least + SPARE}")


@dataclass(frozen=True, slots=True)
class SettingRequest:
    """Levels of a setting to compare.

    Attributes
    ----------
    plan : MeasurePlan
        Plan of each run.
    what : mapping
        The setting, as the table of a factor in a study file.
    levels : tuple of str
        The present level first. Levels near the best one are appended.
    by : str
        The figure to minimise: ``mean`` or a percentile.
    refine : int
        Number of stages that try levels near the best one.
    stages : tuple of tuple of int
        Places of the levels that share rounds, by stage. The first stage has all requested levels. Each later
        stage has the present level, the best one, and those near it. Empty means one stage with all levels.
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
        """Number of comparisons with the present level, in all stages."""
        return len(self.stages[0]) - 1 + NEAR_BEST * self.refine

    def add_stage(self, best: int, fits: Callable[[str], bool] = lambda _: True) -> SettingRequest | None:
        """Add a stage with levels near the best one; None if no level between it and its neighbours fits."""
        new = [level for level in refine_levels(self.levels, best) if fits(level)]
        if not new:
            return None
        places = range(len(self.levels), len(self.levels) + len(new))
        stage = tuple(dict.fromkeys((0, best, *places)))
        return replace(self, levels=(*self.levels, *new), stages=(*self.stages, stage))

    @property
    def target(self) -> Managed:
        """The server, which is started for each run."""
        found = parse_target(self.plan.target)
        if not isinstance(found, Managed):
            raise UsageError(
                "needs-managed-target",
                f"{self.plan.target} runs already, but --set must start the server for each run",
                hint="use a preset (memcached, nginx, ...) or a target file with the command that starts it",
                target=self.plan.target,
            )
        return found

    def knob(self, journal: Path = FOLDER) -> Knob:
        """Return the setting as an object that sets a level and restores the old one."""
        return knob_of(kind_of(self.what, "--set"), self.what, self.target, journal)

    def manifest(self) -> dict[str, Any]:
        """Return the request as the study's manifest stores it."""
        return {
            "what": dict(self.what),
            "levels": list(self.levels),
            "by": self.by,
            "refine": self.refine,
            "stages": [list(places) for places in self.stages],
        }

    @classmethod
    def read(cls, study: Study) -> SettingRequest:
        """Read the request from a study's manifest; old manifests have no stages."""
        stored = study.part("trial", dict)
        stages = tuple(tuple(places) for places in stored.get("stages", ()))
        levels, refine = tuple(stored["levels"]), stored.get("refine", 0)
        return cls(plan_of(study), stored["what"], levels, stored["by"], refine, stages)


def open_new(
    request: MeasureRequest,
    setting: str,
    levels: str,
    rounds: int | None = None,
    by: str = "p99",
    out: Path | None = None,
    refine: int = 0,
) -> Study:
    """Create the study of a comparison of levels.

    Raises
    ------
    UsageError
        If an option is wrong.
    HostUnfit
        If this host does not support a level.
    """
    what, wanted = parse_what(setting), parse_levels(levels)
    _check_refine(refine, wanted)
    comparisons = len(wanted) - 1 + NEAR_BEST * refine
    count = least_pairs(comparisons) + SPARE if rounds is None else pair_limits(comparisons).check(rounds)
    plan = replace(request, runs=str(count)).plan()
    check_figure(by, plan)
    stored = SettingRequest(plan, what, wanted, by, refine)
    knob = stored.knob()
    if plan.server_host is not None:  # that host checks the levels
        refuse_words(stored.what, "--set")
    else:
        for level in stored.levels:
            knob.check(level)
    return begin(plan, out, "trial", trial=stored.manifest())


def reopen(folder: Path, rounds: int | None) -> Study:
    """Open a study to resume it; only its number of rounds may change."""
    study = Study.open(folder)
    comparisons = SettingRequest.read(study).comparisons if "trial" in study.manifest else 1
    return pair_limits(comparisons).reopen(folder, "trial", rounds)


def _check_refine(refine: int, levels: tuple[str, ...]) -> None:
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
    """Split ``--set`` into the setting, as a factor of a study file has it, and its levels.

    A bare name is an option of the target if the target has it; otherwise it is a setting of the host.

    Raises
    ------
    UsageError
        If there are no levels.

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


def parse_what(text: str) -> dict[str, Any]:
    """Parse the setting of ``--set``: the keys of a factor in a study file, without name and levels.

    Raises
    ------
    UsageError
        If it is not TOML, or no kind of setting has these keys.

    Examples
    --------
    >>> parse_what('argument = "-o no_lru_maintainer"')
    {'argument': '-o no_lru_maintainer'}
    """
    try:
        what = parse_toml(f"factor = {{ {text} }}")["factor"]
    except tomllib.TOMLDecodeError as error:
        examples = "; ".join(kind.example.partition(", levels")[0] for kind in list(KINDS.values())[:3])
        raise UsageError(
            "bad-value",
            f"--set {text!r} cannot be read: {error}",
            hint=f"for example {examples}",
            option="--set",
            value=text,
        ) from None
    kind_of(what, "--set")
    return dict(what)
