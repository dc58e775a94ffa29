"""Predictions of many design points, in pieces, here or elsewhere: memory holds the answer and one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from hindmost import _engine
from hindmost.errors import InstanceError
from hindmost.models.document import Clone
from hindmost.models.simulation import Design, engine_errors, run_points
from hindmost.store.predictions import Prediction

PIECE = 2_000
"""Points at once here: some 3 MB of the engine's text. Threads wait for the last of them, a thousandth."""

Job = dict[str, Any]
"""What all points of a batch share, as plain data: ``clone`` and ``design``."""
Point = Mapping[str, Any]
WORK = f"{__name__}:predicted"
Elsewhere = Callable[[Job, Sequence[Point]], Iterator[tuple[int, list[Any]]]]
"""How other machines work: pieces of their answers as they come, each with the place of its first."""


def predictions(
    clone: Clone,
    points: Sequence[Point],
    design: Design,
    progress: Callable[[int], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> list[Prediction]:
    """Predict what each design point does; as `run_points`, without the figures of sections.

    Parameters
    ----------
    progress : optional
        Is told now and then how many points are done.
    elsewhere : optional
        Other machines (`hindmost.fleet.dask.compute.computing`); what they answer is the same.

    Raises
    ------
    UsageError
        A point makes no sense; then none is run.
    InstanceError
        Other machines were lost, and none is left.
    """
    if elsewhere is None and len(points) <= PIECE:
        return [one.prediction for one in run_points(clone, points, design, progress)]
    with engine_errors():
        _engine.check_designs(clone.text, design.text(points))
    if elsewhere is None:
        return _here(clone, points, design, progress)
    found: list[Prediction | None] = [None] * len(points)
    done = 0
    for first, piece in elsewhere(job_of(clone, design), points):
        found[first : first + len(piece)] = _checked(piece)
        done += len(piece)
        if progress is not None:
            progress(done)
    return [one for one in found if one is not None]


def _here(
    clone: Clone, points: Sequence[Point], design: Design, progress: Callable[[int], None] | None
) -> list[Prediction]:
    found: list[Prediction] = []
    for first in range(0, len(points), PIECE):
        told = None if progress is None else _beyond(first, progress)
        outcomes = run_points(clone, points[first : first + PIECE], design, told)
        found += [one.prediction for one in outcomes]
    if progress is not None:
        progress(len(points))
    return found


def _beyond(before: int, progress: Callable[[int], None]) -> Callable[[int], None]:
    return lambda done: progress(before + done)


def predicted(job: Job, points: Sequence[Point]) -> list[Prediction]:
    """One piece, on whichever machine: the intervals too, so that nobody waits for them at the end."""
    clone, design = Clone(**job["clone"]), Design(**job["design"])
    return [one.prediction for one in run_points(clone, points, design)]


def _checked(piece: list[Any]) -> list[Prediction]:
    try:
        return msgspec.convert(piece, list[Prediction])
    except msgspec.ValidationError as error:
        text = f"a host sent something that is no prediction: {str(error)[:300]}"
        raise InstanceError("bad-reply", text, command="compute") from None


def job_of(clone: Clone, design: Design) -> Job:
    """Return what other machines need (`predicted`)."""
    return {"clone": asdict(clone), "design": asdict(design)}
