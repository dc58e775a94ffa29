"""What a trial is asked to do, and its study, new or to go on with."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.knobs import KINDS, Knob, kind_of, knob_of
from hindmost.knobs.force import refuse_words
from hindmost.knobs.journal import FOLDER
from hindmost.plan import MeasurePlan
from hindmost.run.request import MeasureRequest
from hindmost.stats.runs.before_after import LEAST_PAIRS
from hindmost.store import Study
from hindmost.studies.begin import begin
from hindmost.studies.rounds import Rounds, check_figure
from hindmost.targets import Managed, parse_target

ROUNDS = 8
"""Six decide at least; two may be disturbed."""
ALLOWED = Rounds("--rounds", LEAST_PAIRS, "fewer pairs decide nothing", f"--rounds {ROUNDS}")
MOST_LEVELS = 20
STEPS = 5
"""Levels of a range, its ends among them."""


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
        The first is the present state.
    by : str
        The figure that is to be low: ``mean`` or a percentile.
    """

    plan: MeasurePlan
    what: Mapping[str, Any]
    levels: tuple[str, ...]
    by: str

    @property
    def target(self) -> Managed:
        """The server, which each run starts anew."""
        found = parse_target(self.plan.target)
        if not isinstance(found, Managed):
            raise UsageError(
                f"{self.plan.target} runs already: a trial starts the server anew with each level",
                hint="name a preset (memcached, nginx, ...) or a target file that says how to start it",
            )
        return found

    def knob(self, journal: Path = FOLDER) -> Knob:
        """The knob, to be set."""
        return knob_of(kind_of(self.what, "--knob"), self.what, self.target, journal)

    def manifest(self) -> dict[str, Any]:
        """As a study's manifest keeps it."""
        return {"what": dict(self.what), "levels": list(self.levels), "by": self.by}

    @classmethod
    def of(cls, study: Study, plan: MeasurePlan) -> Asked:
        """Read it from a study."""
        found = study.manifest["trial"]
        return cls(plan, found["what"], tuple(found["levels"]), found["by"])


def opened(
    request: MeasureRequest,
    knob: str,
    levels: str,
    rounds: int | None = None,
    by: str = "p99",
    out: Path | None = None,
) -> Study:
    """A new study.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    HostUnfit
        If a level cannot be had on this host.
    """
    plan = replace(request, runs=str(ALLOWED.checked(ROUNDS if rounds is None else rounds))).plan()
    check_figure(by, plan)
    asked = Asked(plan, parse_knob(knob), parse_levels(levels), by)
    made = asked.knob()
    if plan.server_host is not None:  # that host checks them
        refuse_words(asked.what, "--knob")
    else:
        for level in asked.levels:
            made.check(level)
    return begin(plan, out, "trial", trial=asked.manifest())


def reopened(folder: Path, rounds: int | None) -> Study:
    """A study to go on with as it was begun; only the number of rounds may change."""
    return ALLOWED.reopened(folder, "trial", rounds)


def parse_knob(text: str) -> dict[str, Any]:
    """Read ``--knob``: the keys of a factor in a study file, without name and levels.

    >>> parse_knob('argument = "-o no_lru_maintainer"')
    {'argument': '-o no_lru_maintainer'}
    """
    try:
        found = tomllib.loads(f"factor = {{ {text} }}")["factor"]
    except tomllib.TOMLDecodeError as error:
        examples = "; ".join(kind.example.partition(", levels")[0] for kind in list(KINDS.values())[:3])
        raise UsageError(f"--knob {text!r} cannot be read: {error}", hint=f"like {examples}") from None
    kind_of(found, "--knob")
    return dict(found)


def parse_levels(text: str) -> tuple[str, ...]:
    """Read ``--levels``: with commas between them, the present state first; ``LOW..HIGH`` stands for five.

    >>> parse_levels("off,on")
    ('off', 'on')
    >>> parse_levels("0,10..160")
    ('0', '10', '20', '40', '80', '160')
    """
    levels: list[str] = []
    for part in (one.strip() for one in text.split(",")):
        low, between, high = part.partition("..")
        levels += _range(float(low), float(high)) if between and _numbers(low, high) else [part]
    if not 2 <= len(set(levels)) == len(levels) <= MOST_LEVELS:
        raise UsageError(
            f"--levels {text!r} are not 2 to {MOST_LEVELS} different levels, the present state first",
            hint="--levels off,on; or 0,10..160 to find the best value of a number",
        )
    return tuple(levels)


def _numbers(*texts: str) -> bool:
    return all(text.replace(".", "", 1).isdecimal() for text in texts)


def _range(low: float, high: float) -> list[str]:
    """Levels at equal ratios: what a knob does changes by factors, not by steps."""
    if not 0 < low < high:
        raise UsageError(f"--levels {low:g}..{high:g} is no range from a number above 0 to a greater one")
    return [f"{low * (high / low) ** (step / (STEPS - 1)):.4g}" for step in range(STEPS)]
