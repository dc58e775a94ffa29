"""Batching at the client: accepted values, and the counts that are recorded and shown."""

import re

from evidence import client, run
from messages import raises
from partial_documents import partial
from rows import each_row

from hindmost._engine import Histogram
from hindmost.commands.measure.view import wording
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.batching import parse_batching
from hindmost.core.run.batches import batches
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store.measure import Measure
from hindmost.core.store.measure.batches import PerWrite, Sizes
from hindmost.errors import UsageError


def histogram(**counts):
    sizes = Histogram()
    for size, count in counts.items():
        sizes.record(int(size.removeprefix("of")), count)
    return sizes


def run_with_segments(number=1, segments=50, requests=200):
    """Return a run of two clients; each has a worker whose sockets sent this many segments."""
    sockets = {"segments": segments, "segment_requests": requests}
    return run(number, clients=[client(i, threads=[{"sockets": sockets}]) for i in range(2)])


@each_row(
    ("text", "fields"),
    [
        ("cork", {"option": "--batching", "known": ["none", "nagle"]}),
        ("0.1us", {"least": 1e-6, "unit": "s"}),
        ("3 parsecs", {}),
    ],
)
def test_an_invalid_batching_is_refused_with_a_hint(text, fields):
    with raises(UsageError, "bad-value", value=text, **fields) as refused:
        parse_batching(text)
    assert refused.value.hint


def test_the_engine_gets_the_batching_option_and_refuses_impossible_values():
    request = MeasureRequest(target="memcached://127.0.0.1:11211", batching="250us").plan()
    assert request.batching == 0.00025
    assert '"batching":{"interval":{"seconds":0.00025}}' in request.engine_plan(
        1, 0, "memcached", "127.0.0.1:1"
    )
    for changes, key in [
        ({"batching": "nagle", "closed": True}, "batching"),
        ({"batching": "3s"}, "batching.interval.seconds"),
        ({"batching": "1ms", "requests_per_connection": 5}, "batching"),
    ]:
        with raises(UsageError, "bad-value", key=key) as refused:
            MeasureRequest(target="memcached://127.0.0.1:11211", **changes).plan()
        assert "--batching" in refused.value.hint or key != "batching"


def test_requests_by_write_and_by_segment_add_up_over_clients():
    summary = batches(
        [run_with_segments(), run_with_segments(2)],
        MeasurePlan(target="x", batching=1e-3),
        histogram(of1=5, of3=15),
    )
    assert (summary.requested, summary.writes, summary.requests_per_segment) == (1e-3, 20, 4.0)
    assert summary.requests_per_write == PerWrite(mean=2.5, p50=3.0, p99=3.0, most=3)
    assert summary.sizes == Sizes(requests=[1, 3], share=[0.25, 1.0])
    without_segments = run(1, clients=[client(0, threads=[{"sockets": {}}])])
    assert batches([without_segments], MeasurePlan(target="x"), Histogram()) is None, (
        "earlier builds kept none"
    )
    assert batches([without_segments], MeasurePlan(target="x"), histogram(of1=5)).requests_per_segment is None


@each_row(
    ("request", "segments", "values"),
    [
        ("none", 50, []),
        ("nagle", 50, ["nagle", "4.00"]),
        ("nagle", 0, ["nagle"]),
        (1e-3, 50, ["1000us", "2.50", "3.00", "3.00", "4.00"]),
    ],
)
def test_batches_are_shown_if_batching_was_requested(request, segments, values):
    writes = histogram(of1=5, of3=15)
    summary = batches(
        [run_with_segments(segments=segments)], MeasurePlan(target="x", batching=request), writes
    )
    shown = wording.batches(partial(Measure, batches=summary))
    assert re.findall(r"nagle|1000us|\d\.\d\d", shown) == values
    assert bool(shown) == bool(values)
    assert wording.batches(partial(Measure)) == "", "documents of earlier builds have no batches"


def test_the_engine_gets_the_number_of_requests_in_flight():
    url = "memcached://127.0.0.1:11211"
    request = MeasureRequest(target=url, in_flight=16).plan()
    assert '"in_flight":16' in request.engine_plan(1, 0, "memcached", "127.0.0.1:1")
    assert '"in_flight":null' in MeasureRequest(target=url).plan().engine_plan(
        1, 0, "memcached", "127.0.0.1:1"
    )
