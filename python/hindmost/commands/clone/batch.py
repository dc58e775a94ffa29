"""Predictions of many design points in pieces, here or on other machines, so that memory use stays small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from hindmost import _engine
from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.predictions import Prediction
from hindmost.commands.clone.simulation import Design, engine_errors, run_points
from hindmost.errors import ClientError

PIECE = 2_000
"""Points simulated at once locally: about 3 MB of JSON. Waiting for the last thread costs about 0.1 %."""

Job = dict[str, Any]
"""Data that all points of a batch share: ``clone`` and ``design``."""
Point = Mapping[str, Any]
WORK = f"{__name__}:predict_piece"
Elsewhere = Callable[[Job, Sequence[Point]], Iterator[tuple[int, list[Any]]]]
"""Interface to other machines: yields pieces of results, each with the index of its first point."""


def predictions(
    clone: Clone,
    points: Sequence[Point],
    design: Design,
    progress: Callable[[int], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> list[Prediction]:
    """Predict every design point, as `run_points` does, but without the figures of sections.

    Parameters
    ----------
    progress : optional
        Called occasionally with the number of finished points.
    elsewhere : optional
        Runs the simulations on other machines (`hindmost.core.fleet.dask.compute.computing`).

    Raises
    ------
    UsageError
        A point is invalid; then none is run.
    InstanceError
        All other machines were lost.
    """
    if elsewhere is None and len(points) <= PIECE:
        return [one.prediction for one in run_points(clone, points, design, progress)]
    with engine_errors():
        _engine.check_designs(clone.text, design.text(points))
    if elsewhere is None:
        return _predict_locally(clone, points, design, progress)
    found: list[Prediction | None] = [None] * len(points)
    done = 0
    for first, piece in elsewhere(job_of(clone, design), points):
        found[first : first + len(piece)] = _validate(piece)
        done += len(piece)
        if progress is not None:
            progress(done)
    return [one for one in found if one is not None]


def _predict_locally(
    clone: Clone, points: Sequence[Point], design: Design, progress: Callable[[int], None] | None
) -> list[Prediction]:
    found: list[Prediction] = []
    for first in range(0, len(points), PIECE):
        told = None if progress is None else _offset_progress(first, progress)
        outcomes = run_points(clone, points[first : first + PIECE], design, told)
        found += [one.prediction for one in outcomes]
    if progress is not None:
        progress(len(points))
    return found


def _offset_progress(before: int, progress: Callable[[int], None]) -> Callable[[int], None]:
    return lambda done: progress(before + done)


def predict_piece(job: Job, points: Sequence[Point]) -> list[Any]:
    """Predict one piece, on whichever machine this runs; return predictions as plain data."""
    clone, design = Clone(**job["clone"]), Design(**job["design"])
    return [msgspec.to_builtins(one.prediction) for one in run_points(clone, points, design)]


def _validate(piece: list[Any]) -> list[Prediction]:
    try:
        return msgspec.convert(piece, list[Prediction])
    except msgspec.ValidationError as error:
        text = f"a host sent an invalid prediction: {str(error)[:300]}"
        raise ClientError("bad-reply", text, command="compute") from None


def job_of(clone: Clone, design: Design) -> Job:
    """Return the data that other machines need for `predict_piece`."""
    return {"clone": asdict(clone), "design": asdict(design)}
