"""Design points are computed in pieces with the same result anywhere; and how large the pieces are."""

from __future__ import annotations

import random

import pytest
from messages import raises
from rows import each_row

from hindmost.commands.clone import batch
from hindmost.commands.clone.batch import job_of, predict_piece, predictions
from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.core.fleet.dask.pieces import FIRST, PIECE_S, Sizes
from hindmost.core.fleet.dask.version import identity, refuse_other
from hindmost.errors import ClientError, UsageError

DESIGN = Design(requests=500)
POINTS = [
    {"set": {"/threads": threads}, "load": {"utilisation": load / 20}}
    for threads in (1, 2)
    for load in range(1, 19)
]


def compute_shuffled(job, items):
    """Compute pieces of five in random order, as other hosts would."""
    firsts = list(range(0, len(items), 5))
    random.Random(3).shuffle(firsts)
    for first in firsts:
        yield first, predict_piece(job, items[first : first + 5])


@pytest.mark.parametrize("elsewhere", [None, compute_shuffled])
def test_pieces_give_the_same_result_as_the_whole(monkeypatch, elsewhere):
    clone, progress = load_clone("silo"), []
    whole = [point.prediction for point in run_points(clone, POINTS, DESIGN)]
    monkeypatch.setattr(batch, "PIECE", 7)
    assert predictions(clone, POINTS, DESIGN, progress.append, elsewhere) == whole
    assert progress == sorted(progress)
    assert progress[-1] == len(POINTS)


def test_progress_continues_across_pieces(monkeypatch):
    def slow_points(clone, points, design, progress):
        progress(len(points) // 2)
        return run_points(clone, points, design)

    progress = []
    monkeypatch.setattr(batch, "PIECE", 10)
    monkeypatch.setattr(batch, "run_points", slow_points)
    predictions(load_clone("silo"), POINTS, DESIGN, progress.append)
    assert progress == [5, 15, 25, 33, 36]


@pytest.mark.parametrize("elsewhere", [None, compute_shuffled])
@pytest.mark.parametrize(
    ("point", "key"),
    [({"set": {"/threads": 0}}, "threads"), ({"load": {"rate_per_s": -1.0}}, "rate_per_s")],
)
def test_a_batch_with_an_invalid_point_is_not_started(monkeypatch, elsewhere, point, key):
    computed = []
    monkeypatch.setattr(batch, "PIECE", 7)
    monkeypatch.setattr(batch, "run_points", lambda *arguments: computed.append(arguments) or [])
    with raises(UsageError, "bad-value", key=key):
        predictions(load_clone("silo"), [*POINTS, point], DESIGN, None, elsewhere)
    assert not computed


def test_intervals_are_computed_with_the_piece():
    (one,) = predict_piece(job_of(load_clone("silo"), DESIGN), POINTS[:1])
    assert one["latency_us"]["p99"]["low"] <= one["latency_us"]["p99"]["value"]
    assert "sections_us" not in one


@pytest.mark.parametrize(
    "per_s",
    [[1e3] * 2, [50.0], [1.0] * 3, [0.1] * 2, [2e4] * 40, [1e3, 200.0], [4e3, 4e3, 400.0]],
    ids=lambda per_s: f"{len(per_s)} hosts, {per_s[0]:g} to {per_s[-1]:g}",
)
def test_pieces_take_some_seconds_and_hosts_end_together(per_s):
    """Simulated hosts with these speeds in points/s. The first free host takes the next piece; each has one waiting."""
    count, sizes = 100_000, Sizes(2 * len(per_s))
    slowest, crossings, at = min(per_s), 0, 0
    free, busy = [0.0] * len(per_s), [0.0] * len(per_s)
    waiting: list[int] = []
    while at < count or waiting:
        while at < count and len(waiting) < 2 * len(per_s):
            waiting.append(size := sizes.next(count - at))
            assert 1 <= size <= count - at
            at += size
        host = free.index(min(free))
        size = waiting.pop(0)
        seconds = size / per_s[host]
        assert seconds <= 1.05 * max(PIECE_S * max(per_s) / slowest, FIRST / slowest)
        free[host] += seconds
        busy[host] += seconds
        crossings += 1
        sizes.learn(size, seconds)
    together = sum(busy) / len(busy)
    assert max(free) <= 1.06 * together + max(0.2, FIRST / slowest), "hosts end at about the same time"
    assert crossings <= count / (PIECE_S * slowest) + 60 * len(per_s) + FIRST


@each_row(
    ("reply", "code", "fields"),
    [
        (identity() | {"version": "0.0.9"}, "version-mismatch", {"key": "version", "value": "0.0.9"}),
        (identity() | {"engine": "feed"}, "version-mismatch", {"key": "engine", "value": "feed"}),
        (ModuleNotFoundError(name="hindmost"), "missing-hindmost", {}),
        (OSError(), "host-unreachable", {}),
    ],
)
def test_a_host_with_another_build_or_no_hindmost_is_refused(reply, code, fields):
    with raises(ClientError, code, host="a", **fields):
        refuse_other("a", reply)


def test_a_host_with_the_same_build_is_accepted():
    refuse_other("a", identity())


@pytest.mark.parametrize("piece", [[None], [{"state": "done"}], [{"state": "lost", "threads": 1}], ["done"]])
def test_an_invalid_prediction_from_another_host_is_an_error(piece):
    with raises(ClientError, "bad-reply", command="compute"):
        predictions(load_clone("silo"), POINTS[:1], DESIGN, None, lambda job, items: iter([(0, piece)]))
