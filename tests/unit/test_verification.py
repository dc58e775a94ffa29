"""Verification of clones: counted pairs, outcomes and refused requests."""

import json
import math

import jsonschema
import numpy as np
import pytest
from messages import raises
from partial_documents import partial

from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.simulation import Design, simulate
from hindmost.commands.compare.clone.ratios import MARGINS, SERIES, LoadPoint, compare_series, decide
from hindmost.commands.compare.clone.request import CloneRequest, parse_loads, refuse_other_request
from hindmost.commands.compare.clone.series import with_seed
from hindmost.commands.compare.documents.clone import PredictedPoint, Verification
from hindmost.commands.compare.view.clone import view
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.store import Study
from hindmost.core.store.estimates import encode
from hindmost.core.store.measure import Measure
from hindmost.core.store.schema import schemas
from hindmost.core.targets import parse_target
from hindmost.errors import UsageError
from hindmost.present.blocks import Table
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

POINT = LoadPoint(0.5, 400.0)
LATE = Note("late-sends", "requests left late", {"late_us": 40.0})
FACTORS = {"mean": 1.0, "p95": 3.0, "p99": 5.0}


@pytest.fixture(scope="module")
def prediction():
    return simulate(
        load_clone("xapian"), utilisation=0.5, design=Design(requests=20_000, quantiles=(0.5, 0.95, 0.99))
    )


def compare(results, prediction, excluded=(), **more):
    return compare_series(POINT, results, prediction, dict.fromkeys(excluded, LATE), **more)


def series(pairs=6, scatter=0.01, **medians):
    """Return results of the three series with their medians in microseconds."""
    random = np.random.default_rng(7)
    result = {}
    for name in SERIES:
        runs = []
        for number in range(1, pairs + 1):
            us = medians.get(name, 1000.0) * random.lognormal(0.0, scatter)
            runs.append(
                {
                    "run": number,
                    "latency_us": {figure: us * factor for figure, factor in FACTORS.items()},
                    "counts": {"scheduled": 10_000},
                }
            )
        result[name] = partial(Measure, runs=runs)
    return result


def document(points, prediction):
    latency = {name: prediction.latency_us[name] for name in MARGINS}
    return Verification(
        schema="hindmost.verification/1",
        version="0.1.0",
        created="2026-11-20T10:00:00Z",
        study="study",
        original="original",
        clone="xapian",
        threads=1,
        capacity_per_s=800.0,
        duration_s=5.0,
        confidence=0.9,
        margins=MARGINS,
        verdict=decide(points),
        points=points,
        curve=[PredictedPoint(load=0.5, rate_per_s=400.0, latency_us=latency)],
    )


def ratio_table(result):
    """The table of the view."""
    return next(block for block in view(result).blocks[-1].blocks if isinstance(block, Table))


def renderings(result):
    """The terminal's text and the page."""
    return render_terminal(view(result), width=200), render_page(view(result))


def outcomes(point, which="clone"):
    return {name: getattr(figure, which).outcome for name, figure in point.figures.items()}


def test_an_equivalent_clone_is_recognised(prediction):
    point = compare(series(clone=1010.0), prediction)
    assert outcomes(point) == dict.fromkeys(MARGINS, "equivalent")
    assert decide([point]) == "equivalent"
    assert (point.pairs, point.left_out, point.why, point.requests) == (6, 0, None, 60_000)


def test_a_clone_that_is_slower_at_one_load_is_different(prediction):
    slower = compare(series(clone=1200.0), prediction)
    assert outcomes(slower) == dict.fromkeys(MARGINS, "different")
    assert outcomes(slower, "floor") == dict.fromkeys(MARGINS, "equivalent")
    alike = compare(series(), prediction)
    assert decide([alike, slower]) == "different"


def test_large_scatter_is_inconclusive(prediction):
    point = compare(series(scatter=0.2), prediction)
    assert set(outcomes(point).values()) == {"open"}
    assert decide([point]) == "open"


def test_few_pairs_are_inconclusive(prediction):
    for clone in (1000.0, 2000.0):
        point = compare(series(clone=clone, pairs=4, scatter=1e-4), prediction)
        assert set(outcomes(point).values()) == {"open"}


def test_the_margin_of_p99_is_wider(prediction):
    point = compare(series(clone=1065.0, scatter=0.002), prediction)
    assert outcomes(point) == {"mean": "different", "p95": "different", "p99": "equivalent"}


def test_excluded_pairs_are_not_counted(prediction):
    results = series(pairs=7)
    for number in (2, 5):
        for name in SERIES:
            results[name].runs[number - 1].latency_us.update(dict.fromkeys(FACTORS, 1e9))
    point = compare(results, prediction, (2, 5))
    assert (point.pairs, point.left_out, point.why) == (5, 2, LATE.document())
    assert outcomes(point) == dict.fromkeys(MARGINS, "equivalent")
    assert point.figures["mean"].original_us.value < 1100.0


def test_a_changed_cost_affects_only_the_plain_ratio(prediction):
    """Requests of the original cost 1.1 to 1.2 times as much as when logged; its latency grows with the square."""
    factors = [1.1, 1.14, 1.2, 1.1, 1.12, 1.15]
    result = series()
    costs = {}
    for number, factor in enumerate(factors, 1):
        for name in ("original", "again"):
            run = result[name].runs[number - 1]
            run.latency_us.update({figure: us * factor**2 for figure, us in run.latency_us.items()})
        effects = dict.fromkeys(FACTORS, factor**2) | {"cost": factor}
        costs[number] = {"original": effects, "again": effects}
    point = compare(result, prediction, costs=costs)
    assert outcomes(point, "as_logged") == dict.fromkeys(MARGINS, "equivalent")
    assert set(outcomes(point).values()) == {"different"}
    assert point.cost.ratio == pytest.approx(float(np.exp(np.mean(np.log(factors)))), rel=0.01)
    assert decide([point]) == "different", "the verdict uses the plain ratio"
    full = document([point], prediction)
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(json.loads(encode(full)))
    for shown in renderings(full):
        assert f"{point.figures['p99'].as_logged.ratio:.3f}" in shown
        assert f"{point.cost.ratio:.3f}" in shown
    del costs[3]
    partly = compare(result, prediction, costs=costs)
    assert partly.cost is None
    assert partly.figures["mean"].as_logged is None
    (without, with_costs) = (ratio_table(document([one], prediction)) for one in (partly, point))
    assert len(without.heads) == len(with_costs.heads) - 2


def test_missing_pairs_are_inconclusive(prediction):
    point = compare(series(), prediction, range(1, 7))
    assert point.figures["p99"].clone is None
    assert decide([point]) == "open"
    for shown in renderings(document([point], prediction)):
        assert LATE.text in shown


def test_an_infinite_run_has_no_ratio(prediction):
    results = series()
    results["clone"].runs[0].latency_us["p99"] = math.inf
    point = compare(results, prediction)
    assert point.figures["p99"].clone is None
    assert point.figures["p99"].clone_us.value == math.inf
    assert point.figures["mean"].clone.outcome == "equivalent"


@pytest.mark.parametrize("pairs", [1, 6])
def test_document_table_and_page_agree(prediction, pairs):
    result = document([compare(series(clone=1200.0, pairs=pairs), prediction)], prediction)
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(json.loads(encode(result)))
    ratio = f"{result.points[0].figures['p95'].clone.ratio:.3f}"
    table, page = renderings(result)
    assert ratio in table
    assert ratio in page
    assert page.count("<svg") > 2 * 2 * len(MARGINS)


def test_a_seed_is_passed_to_servers_that_accept_one():
    assert with_seed(parse_target("synth"), 5).spec.options["seed"] == 5
    assert with_seed(parse_target("memcached"), 5) == parse_target("memcached")


def test_loads_are_shares_of_the_capacity():
    clone = load_clone("masstree")
    points = parse_loads("70%,20%", clone)
    assert [point.load for point in points] == pytest.approx([0.2, 0.7])
    assert [point.rate_per_s / clone.capacity_per_s for point in points] == pytest.approx([0.2, 0.7])
    with raises(UsageError, "bad-value", name="--loads", value="120%"):
        parse_loads("20%,120%", clone)


def test_runs_of_another_clone_or_plan_are_not_mixed(tmp_path):
    clone, plan = load_clone("masstree"), MeasurePlan(target="memcached", rate_per_s=1000.0)
    stored = {"plan": plan.model_dump(mode="json"), "host": {}, "verification": {"clone": clone.document}}
    study = Study(tmp_path, stored)
    request = CloneRequest(clone, "wall", [POINT])
    refuse_other_request(study, request, plan.model_copy(update={"runs": (9, 9)}))
    with raises(UsageError, "study-differs", key="clone"):
        refuse_other_request(study, CloneRequest(load_clone("silo"), "wall", [POINT]), plan)
    with raises(UsageError, "study-differs", key="duration_s", now=9.0):
        refuse_other_request(study, request, plan.model_copy(update={"duration_s": 9.0}))
    with raises(UsageError, "study-differs", key="occupy", before="wall", now="cpu"):
        refuse_other_request(study, CloneRequest(clone, "cpu", [POINT]), plan)
    with raises(UsageError, "wrong-study-kind", kind="measure"):
        refuse_other_request(Study(tmp_path, {"plan": {}, "host": {}}), request, plan)
