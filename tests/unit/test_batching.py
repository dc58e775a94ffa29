"""Batching at the client: which values are accepted, and what is counted and shown."""

import re

from evidence import client, run
from messages import raises
from rows import each_row

from hindmost._engine import Histogram
from hindmost.errors import UsageError
from hindmost.plan import MeasurePlan
from hindmost.plan.batching import parse_batching
from hindmost.report.measure import view
from hindmost.run.batches import batches
from hindmost.run.request import MeasureRequest


def histogram(**counts):
    found = Histogram()
    for size, count in counts.items():
        found.record(int(size.removeprefix("of")), count)
    return found


def written(number=1, segments=50, requests=200):
    """A run of two instances, each with a worker whose sockets sent so many segments."""
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
def test_a_batching_that_cannot_be_read_is_refused_with_a_hint(text, fields):
    with raises(UsageError, "bad-value", value=text, **fields) as refused:
        parse_batching(text)
    assert refused.value.hint


def test_the_engine_gets_what_the_option_asks_for_and_refuses_what_has_no_meaning():
    asked = MeasureRequest(target="memcached://127.0.0.1:11211", batching="250us").plan()
    assert asked.batching == 0.00025
    assert '"batching":{"interval":{"seconds":0.00025}}' in asked.engine_plan(
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
    found = batches([written(), written(2)], MeasurePlan(target="x", batching=1e-3), histogram(of1=5, of3=15))
    assert (found["requested"], found["writes"], found["requests_per_segment"]) == (1e-3, 20, 4.0)
    assert found["requests_per_write"] == {"mean": 2.5, "p50": 3.0, "p99": 3.0, "most": 3}
    assert found["sizes"] == {"requests": [1, 3], "share": [0.25, 1.0]}
    early = run(1, clients=[client(0, threads=[{"sockets": {}}])])
    assert batches([early], MeasurePlan(target="x"), Histogram()) is None, "earlier builds kept none"
    assert batches([early], MeasurePlan(target="x"), histogram(of1=5))["requests_per_segment"] is None


@each_row(
    ("asked", "segments", "values"),
    [
        ("none", 50, []),
        ("nagle", 50, ["nagle", "4.00"]),
        ("nagle", 0, ["nagle"]),
        (1e-3, 50, ["1000us", "2.50", "3.00", "3.00", "4.00"]),
    ],
)
def test_batches_are_shown_where_they_were_asked_for(asked, segments, values):
    writes = histogram(of1=5, of3=15)
    found = batches([written(segments=segments)], MeasurePlan(target="x", batching=asked), writes)
    shown = view.batches({"batches": found})
    assert re.findall(r"nagle|1000us|\d\.\d\d", shown) == values
    assert bool(shown) == bool(values)
    assert view.batches({}) == "", "documents of earlier builds"


def test_the_engine_is_told_how_many_requests_a_connection_takes_at_once():
    url = "memcached://127.0.0.1:11211"
    asked = MeasureRequest(target=url, in_flight=16).plan()
    assert '"in_flight":16' in asked.engine_plan(1, 0, "memcached", "127.0.0.1:1")
    assert '"in_flight":null' in MeasureRequest(target=url).plan().engine_plan(
        1, 0, "memcached", "127.0.0.1:1"
    )
