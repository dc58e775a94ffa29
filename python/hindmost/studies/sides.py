"""The stored runs of named sides, judged by what host and client did to them.

A kind of study says what else is the server's own, and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from hindmost.notes import Note
from hindmost.run.figure_cache import run_figures
from hindmost.run.readings import plan_of
from hindmost.run.soundness import Soundness, soundness
from hindmost.store import Study


def judged(study: Study, number: int, against: Mapping[str, float] | None = None) -> Soundness:
    """Whether host or client disturbed a stored run.

    Parameters
    ----------
    against : mapping of str to float, optional
        The latencies that late sending is compared with, by quantile; else the run's own.
    """
    return _judged(study.folder, number, None if against is None else tuple(against.items()))


def unsound_rounds(
    sides: Iterable[Study], rounds: Iterable[int], why: Callable[[Study, int], Note | None]
) -> dict[int, Note]:
    """Return the rounds of all sides that do not count, and why; one run is enough to exclude a round."""
    sides = list(sides)
    whys = {number: [said for side in sides if (said := why(side, number))] for number in rounds}
    return {number: said[0] for number, said in whys.items() if said}


@cache
def _judged(folder: Path, number: int, against: tuple[tuple[str, float], ...] | None) -> Soundness:
    """A stored run never changes, and to read one takes a tenth of a second."""
    study = Study.open(folder)
    run = study.run(number)
    assert run is not None
    plan = plan_of(study)
    return soundness(run_figures(run, plan), plan, against=None if against is None else dict(against))
