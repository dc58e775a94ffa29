"""The answer of a stored study: its contents, sums that add up, and repeatability."""

import json
import math
import shutil
from pathlib import Path

import jsonschema
import msgspec
import pytest
from messages import raises
from msgspec import structs
from rows import each_row
from tiny_study import rewrite

import hindmost
from hindmost import Histogram, MeasurePlan
from hindmost.commands.measure import pictures
from hindmost.commands.measure.answer import answer, rule_of
from hindmost.commands.measure.view import render_page, render_terminal
from hindmost.core.run import figure_cache, figures, readings
from hindmost.core.store import Study
from hindmost.core.store.estimates import encode, to_document
from hindmost.core.store.measure import Curve
from hindmost.core.store.schema import schemas
from hindmost.errors import StudyError


@pytest.fixture(scope="module")
def document(made_study):
    return answer(hindmost.Study.open(made_study[0]))


def test_the_document_follows_its_schema(document):
    text = encode(document)
    jsonschema.Draft202012Validator(schemas()["measure"]).validate(json.loads(text))


def test_the_study_is_answered_the_same_way_again(document, study):
    again, first = to_document(answer(study)), to_document(document)
    for one in (again, first):
        one.pop("created")
        for reason in (*one["reasons"], *one["causes"]):
            reason.pop("hint")  # names the folder
    assert again == first


def test_a_moved_study_is_answered_under_its_new_name(study):
    folder = study.folder.rename(study.folder.with_name("elsewhere"))
    found = answer(hindmost.Study.open(folder))
    assert found.study == "elsewhere"
    assert str(folder) in next(r.hint for r in found.reasons if r.code == "wide-intervals")


def test_every_request_is_accounted_for(document):
    parts = [document.counts, *(run.counts for run in document.runs)]
    parts += [one.counts for run in document.runs for one in run.clients]
    parts += [kind.counts for kind in document.by_kind.values()]
    for counts in parts:
        assert counts.scheduled == counts.completed + counts.errors + counts.timeouts + counts.unsent
        assert 0 <= counts.misses <= counts.completed


def test_counts_of_kinds_clients_and_runs_add_up(document):
    scheduled = document.counts.scheduled
    assert scheduled == sum(run.counts.scheduled for run in document.runs)
    assert scheduled == sum(kind.counts.scheduled for kind in document.by_kind.values())
    for run in document.runs:
        assert run.counts.scheduled == sum(one.counts.scheduled for one in run.clients)
    assert 600 < scheduled < 1800  # 2 runs of 0.3 s at 2000/s: 1200, and 17 sigma on both sides


def test_kinds_are_those_of_the_workload(document):
    assert set(document.by_kind) == {"get", "set"}
    gets, sets = (document.by_kind[kind].counts.scheduled for kind in ("get", "set"))
    assert 0.7 < gets / (gets + sets) < 0.9


def test_the_answer_is_the_mean_of_runs_and_a_run_the_mean_of_its_clients(document):
    for name, one in document.latency_us.items():
        values = [run.latency_us[name] for run in document.runs]
        assert one.value == pytest.approx(sum(values) / 2)
        assert one.low <= one.value <= one.high
        for run in document.runs:
            parts = [part.latency_us[name] for part in run.clients]
            assert run.latency_us[name] == pytest.approx(sum(parts) / 2)


def test_no_interval_of_a_time_extends_below_zero(document):
    for name in ("latency_us", "service_us", "send_delay_us"):
        assert all(one.low >= 0.0 for one in getattr(document, name).values())


def test_two_short_runs_are_not_enough_and_the_document_gives_the_reasons(document):
    assert document.verdict != "valid"
    codes = {reason.code for reason in document.reasons}
    assert {"few-samples", "sleeping-clients"} <= codes
    assert document.headline.startswith(document.verdict)
    assert document.clients.pacing == "sleep"


def test_shares_of_clients_sum_to_one(document):
    clients = document.clients
    for shares in (clients.share_of_slowest, clients.share_of_all):
        assert sum(shares) == pytest.approx(1.0)
    assert clients.by_quantile
    for row in clients.by_quantile:
        assert sum(row.shares) == pytest.approx(1.0)


def test_curves_rise_and_stay_below_one(document):
    curves = [*structs.asdict(document.distributions).values(), *document.per_run_curves]
    for curve in curves:
        assert curve.q == sorted(curve.q)
        assert all(0.0 <= q < 1.0 for q in curve.q)
        known = [us for us in curve.us if us is not None]
        assert known == sorted(known)
        assert len(curve.q) == len(curve.us) > 10


def test_outstanding_requests_are_shares_of_all_arrivals(document):
    found = document.outstanding
    assert sum(found.share) == pytest.approx(1.0)
    assert found.values == sorted(set(found.values))
    assert (found.per_client, found.connections) == (True, 2)


def test_the_time_series_covers_warm_up_and_measurement(document):
    for series, run in zip(document.series, document.runs, strict=True):
        assert series.run == run.run
        assert series.t_s == sorted(series.t_s)
        assert series.measure_from_s >= 0.3  # warm-up, calibration, and waiting for the other client
        assert series.t_s[-1] >= series.measure_from_s + 0.1


def test_the_answer_can_be_shown(document):
    outcome, first = document.headline.partition(": ")[0], document.causes[0].text
    assert outcome == document.verdict
    assert first[:40] in render_terminal(document, width=400, color=False)
    assert "<!doctype html>" in render_page(document).lower()


def test_the_observer_saw_every_run_and_phase(diary):
    assert diary.began == [(1, 2, 2), (2, 2, 2)]
    assert [number for number, _ in diary.ended] == [1, 2]
    assert [decision.stop for _, decision in diary.ended] == [False, True]
    order = [p for p, before in zip(diary.phases, [None, *diary.phases], strict=False) if p != before]
    assert [phase for phase in order if phase != "start"] == ["warm-up", "measure", "collect"] * 2


def test_a_finished_run_holds_its_files_and_nothing_of_the_fleet(made_study):
    names = {path.name for path in (made_study[0] / "runs" / "0001").iterdir()}
    assert names >= {"run.json", "server.log"} | {
        f"{kind}-{index}.{end}"
        for kind, end in (
            ("client", "json"),
            ("client", "hlog"),
            ("samples", "parquet"),
            ("worst", "parquet"),
        )
        for index in (0, 1)
    }
    assert not any(name.startswith(("plan-", ".")) or name.endswith(".err") for name in names)


def test_runs_have_successive_seeds(made_study, study):
    first = [run.record.seed for run in study.runs()]
    assert first == [1, 2]


def without_figures(study, folder: Path) -> Study:
    """Return a copy of a study without its figure cache."""
    return Study.open(shutil.copytree(study.folder, folder, ignore=shutil.ignore_patterns(figure_cache.FILE)))


def test_the_figure_cache_of_a_run_follows_its_files_and_plan(study, tmp_path, monkeypatch):
    own = without_figures(study, tmp_path / "own")
    plan = readings.plan_of(own)
    reads = []
    read = figure_cache.read_figures
    monkeypatch.setattr(figure_cache, "read_figures", lambda *arguments: reads.append(1) or read(*arguments))
    run = own.run(1)
    other = tmp_path / "other"
    other.write_text("mine")
    (run.folder / f".part-{figure_cache.FILE}").symlink_to(other)
    first, second = (figure_cache.run_figures(run, plan) for _ in range(2))
    assert len(reads) == 1
    assert other.read_text() == "mine", "a link in place of a part file is not followed"
    assert first.latency.bins() == second.latency.bins()
    assert [one.latency.count for one in first.clients] == [one.latency.count for one in second.clients]
    for name in ("values", "kind_values", "within", "counts", "sections", "record", "reasons"):
        assert getattr(first, name) == getattr(second, name), name
    figure_cache.run_figures(run, plan.model_copy(update={"quantiles": (0.9,)}))
    assert len(reads) == 2, "the plan asks for other quantiles"
    figure_cache.run_figures(run, plan.model_copy(update={"runs": (3, 9)}))
    assert len(reads) == 3, "figures for other quantiles are cached now"
    figure_cache.run_figures(run, plan.model_copy(update={"runs": (4, 9)}))
    assert len(reads) == 3, "the number of runs changes no run"
    note = {"code": "requests-left-out", "text": "2", "values": {}}
    with_note = plan.model_copy(update={"runs": (4, 9), "notes": (note,)})
    reasons = figure_cache.run_figures(run, with_note).reasons
    assert len(reads) == 4, "notes of the plan are reasons of each run"
    assert "requests-left-out" in [one.code for one in reasons]
    rewrite(run.folder / "client-0.json", {"reconnects": 7})
    assert figure_cache.run_figures(run, plan).clients[0].result.reconnects == 7
    (run.folder / figure_cache.FILE).write_bytes(b"nonsense")
    assert figure_cache.run_figures(run, plan).number == 1


def test_answers_from_cached_figures_equal_those_from_the_files(study, tmp_path, monkeypatch):
    own = without_figures(study, tmp_path / "own")
    fresh = answer(own)
    monkeypatch.setattr(figure_cache, "read_figures", None)
    monkeypatch.setattr(figure_cache, "reasons_of_run", None)
    assert structs.replace(answer(own), created="") == structs.replace(fresh, created="")


def test_unanswered_requests_make_the_percentiles_that_they_reach_infinite(study, tmp_path, monkeypatch):
    read = readings.read_clients

    def read_with_timeouts(run):
        clients = read(run)
        whole = clients[0].by_kind["latency", "get"]
        whole.add_censored(whole.count // 50)
        return clients

    monkeypatch.setattr(figures, "read_clients", read_with_timeouts)
    found = answer(without_figures(study, tmp_path / "own"))
    p50, p99 = found.latency_us["p50"], found.latency_us["p99"]
    assert math.isfinite(p50.value)
    assert p50.censored_runs == 0
    assert (p99.value, p99.high, p99.censored_runs) == (math.inf, math.inf, 2)
    assert found.latency_us["mean"].value == math.inf
    assert [run.latency_us["p99"] for run in found.runs] == [math.inf, math.inf]
    assert found.merged_us["p99.9"] == math.inf
    assert found.distributions.latency.us[-1] == math.inf
    assert found.service_us["p99"].value < math.inf
    encode(found)
    assert "∞" in render_terminal(found, width=100, color=False)


def test_an_attached_server_shows_no_hysteresis(study):
    for run in study.runs():
        target = msgspec.to_builtins(run.record.target) | {"managed": False}
        rewrite(run.folder / "run.json", {"target": target})
    found = answer(study)
    assert found.hysteresis.visible is None
    assert "not-restarted" in {reason.code for reason in found.reasons}


@pytest.mark.parametrize("name", ["client-1.hlog", "client-0.json"])
@pytest.mark.parametrize("damage", ["gone", "cut", "empty"])
def test_a_damaged_run_is_reported_with_a_remedy(study, name, damage):
    file = study.folder / "runs" / "0002" / name
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:100] if damage == "cut" else b"")
    with raises(StudyError, "damaged-run", run=2) as caught:
        answer(study)
    assert str(study.folder / "runs" / "0002") in caught.value.hint


def test_the_remaining_runs_of_a_study_can_still_be_answered(study):
    shutil.rmtree(study.folder / "runs" / "0002")
    found = answer(study)
    assert len(found.runs) == 1
    assert found.verdict in ("inconclusive", "invalid")
    assert found.latency_us["p99"].low is None
    assert found.variance["p99"].between_runs_sd_us is None


@each_row(
    ("runs", "first", "most"),
    [
        ((10, 30), 10, 30),
        ((20, 30), 20, 30),
        ((5, 5), 5, 5),
        ((2, 30), 2, 30),
        ((1, 1), 1, 1),
        ((3, 6), 3, 6),
    ],
)
def test_the_rule_looks_first_when_the_plan_says(runs, first, most):
    rule = rule_of(MeasurePlan(target="memcached", runs=runs))
    decision = rule.decide({name: [] for name in ("p50", "p95", "p99", "p99.9")})
    assert not decision.stop
    values = {name: [50.0] * most for name in ("p50", "p95", "p99", "p99.9")}
    assert rule.decide(values).stop
    assert rule.max_runs == most
    assert (rule.first if runs[0] > 1 else runs[0]) == first


@each_row("count", [1, 2, 9, 10, 1000])
def test_curves_of_small_distributions_are_curves(count):
    histogram = Histogram()
    for value in range(count):
        histogram.record(1000 + value)
    curve = pictures.curve(histogram)
    assert curve.q[0] == 0.0
    assert max(curve.q) < 1.0
    assert pictures.curve(Histogram()) == Curve(q=[], us=[])
