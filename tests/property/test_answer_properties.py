"""Properties of figures, curves and shares of any distributions."""

import math
from types import SimpleNamespace

import pytest
from engine_documents import complete
from hypothesis import given, settings
from hypothesis import strategies as st
from run_records import run_record

from hindmost import Histogram, MeasurePlan
from hindmost.commands.measure import pictures
from hindmost.core.run import figures
from hindmost.core.run.figures import read_figures
from hindmost.core.run.readings import ClientReading, microseconds
from hindmost.core.store import StoredRun
from hindmost.core.store.engine import ClientResult

PLAN = MeasurePlan(target="memcached", clients=2)
VALUES = st.lists(st.integers(1, 10**9), min_size=1, max_size=6)
KINDS = ("get", "set")


@st.composite
def readings(draw):
    """One client's reading: two kinds, ten sections each as the engine makes them, and counts that add up."""
    reading = ClientReading(complete(ClientResult, {}))
    kinds = {}
    for kind in KINDS:
        sections = []
        for _ in range(10):
            histogram = Histogram()
            for value in draw(VALUES):
                histogram.record(value)
            sections.append(histogram)
        late = draw(st.integers(0, 5))
        sections[-1].add_censored(late)
        whole = Histogram()
        for section in sections:
            whole.merge(section)
        completed = whole.count - late
        errors = draw(st.integers(0, 3))
        timeouts = draw(st.integers(0, late))
        reading.latency_sections[kind] = sections
        reading.by_kind["latency", kind] = whole
        for figure in ("service", "send_delay"):
            reading.by_kind[figure, kind] = sections[0]
        reading.outstanding.record(draw(st.integers(0, 100)), whole.count)
        kinds[kind] = {
            "scheduled": completed + errors + late,
            "completed": completed,
            "misses": draw(st.integers(0, completed)),
            "errors": errors,
            "timeouts": timeouts,
            "unsent": late - timeouts,
        }
    whole = {
        "counts": {name: sum(kind[name] for kind in kinds.values()) for name in kinds["get"]},
        "kinds": kinds,
        "threads": [{}],
    }
    reading.result = complete(ClientResult, whole)
    return reading


def read_one_run(clients, plan=PLAN):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "read_clients", lambda _: clients)
        run = read_figures(StoredRun(1, SimpleNamespace(), run_record()), plan)
        return run, run.totals


@given(st.lists(readings(), min_size=1, max_size=3))
@settings(max_examples=12, deadline=None)
def test_the_counts_of_a_run_add_up_and_equal_those_of_its_kinds(clients):
    run, totals = read_one_run(clients)
    for counts in (run.counts, *run.kind_counts.values()):
        assert counts.scheduled == counts.completed + counts.errors + counts.timeouts + counts.unsent
    for name in run.counts.__struct_fields__:
        assert getattr(run.counts, name) == sum(getattr(run.kind_counts[kind], name) for kind in KINDS)
    answered = run.counts.completed + run.counts.timeouts + run.counts.unsent
    assert totals.whole["latency"].count == run.latency.count == answered


@given(st.lists(readings(), min_size=1, max_size=3))
@settings(max_examples=12, deadline=None)
def test_quantiles_of_a_run_rise_and_lie_between_its_clients(clients):
    run, _ = read_one_run(clients)
    for figure in ("latency", "service", "send_delay"):
        values = [run.values[figure][name] for name in PLAN.labels]
        assert values == sorted(values)
    for level, name in zip(PLAN.quantiles, PLAN.labels, strict=True):
        parts = [microseconds(one.whole("latency"), level) for one in clients]
        value = run.values["latency"][name]
        assert math.isinf(value) == any(math.isinf(part) for part in parts)
        if math.isfinite(value):
            assert min(parts) * 0.999999 <= value <= max(parts) * 1.000001


@given(st.lists(readings(), min_size=1, max_size=3))
@settings(max_examples=12, deadline=None)
def test_one_late_client_of_three_does_not_change_the_median(clients):
    run, _ = read_one_run(clients, PLAN.model_copy(update={"aggregate": "median"}))
    for level, name in zip(PLAN.quantiles, PLAN.labels, strict=True):
        late = sum(math.isinf(microseconds(one.whole("latency"), level)) for one in clients)
        assert math.isinf(run.values["latency"][name]) == (2 * late >= len(clients))


@given(st.lists(readings(), min_size=2, max_size=3))
@settings(max_examples=12, deadline=None)
def test_shares_of_the_clients_sum_to_one_at_every_quantile(clients):
    run, totals = read_one_run(clients)
    rows = pictures.shares_by_quantile([run], totals)
    assert rows
    for row in rows:
        assert len(row.shares) == len(clients)
        assert all(share >= 0.0 for share in row.shares)
        assert sum(row.shares) == pytest.approx(1.0)


@given(readings())
@settings(max_examples=12, deadline=None)
def test_curves_rise_below_one_and_end_infinite_where_requests_were_lost(reading):
    whole = reading.whole("latency")
    curve = pictures.curve(whole, 100)
    assert curve.q == sorted(curve.q)
    assert curve.q[0] == 0.0
    assert max(curve.q) < 1.0
    values = [math.inf if us is None else us for us in curve.us]
    assert values == sorted(values)
    assert not math.isinf(values[-1]) or whole.censored > 0


@given(st.dictionaries(st.integers(0, 10**6), st.integers(1, 1000), min_size=1, max_size=900))
@settings(max_examples=12, deadline=None)
def test_outstanding_shares_sum_to_one_in_few_points(counts):
    histogram = Histogram()
    for value, count in counts.items():
        histogram.record(value, count)
    picture = pictures.outstanding(histogram, PLAN)
    assert sum(picture.share) == pytest.approx(1.0)
    assert len(picture.values) == len(picture.share) <= 400
    assert picture.values == sorted(picture.values)
