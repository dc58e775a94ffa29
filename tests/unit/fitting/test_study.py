"""A study at low load is a log of wire times; part of each lies outside the server."""

import json

import numpy as np
import pytest
from messages import raises
from run_records import run_document

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit import fit_clone, read_log, read_logs
from hindmost.commands.clone.fit.reading import Log
from hindmost.commands.clone.fit.reading.saturation import read_saturated
from hindmost.commands.clone.simulation import Design, run_points
from hindmost.errors import Inconclusive, StudyError, UsageError
from tests.golden.sample_results import valid

from .planted import by_code

N = 5_000


def write_study(
    tmp_path, wire_us, server_cpu_share, achieved=1_000.0, loop="open", name="study", runs=1, p95=None
):
    """Write the files of a study that the fit reads; its first run has samples."""
    folder = tmp_path / name
    run = folder / "runs" / "0001"
    run.mkdir(parents=True)
    (folder / "manifest.json").write_text(
        json.dumps({"schema": "hindmost.study/1", "plan": {"loop": loop, "rate_per_s": achieved}, "host": {}})
    )
    (run / "run.json").write_text(json.dumps(run_document()))
    answer = valid(runs, 1)
    answer["throughput"]["achieved"] = achieved
    for number, row in enumerate(answer["runs"]):
        row["server_cpu_share"] = server_cpu_share
        row["throughput"]["achieved"] = achieved * (1.0 + 0.01 * number)
        row["latency_us"] = {} if p95 is None else {"p95": p95 * (1.0 + 0.004 * (number - (runs - 1) / 2.0))}
    (folder / "result.json").write_text(json.dumps(answer))
    sent = np.arange(len(wire_us)) * 1_000_000
    back = sent + 2_000 + np.round(np.asarray(wire_us) * 1e3).astype(np.int64)
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"sent_ns": sent, "wire_out_ns": sent + 2_000, "wire_in_ns": back})
    frame = frame.with_columns(completed_ns=polars.col("wire_in_ns") + 7_000)
    # One request in ten has no time stamps.
    has_stamps = polars.int_range(frame.height) % 10 > 0
    stamped = polars.when(has_stamps).then(polars.col("wire_in_ns")).alias("wire_in_ns")
    frame.with_columns(stamped).write_parquet(run / "samples-0.parquet", compression="snappy")
    return folder


def wire(seed=1):
    return 30.0 + np.random.default_rng(seed).lognormal(np.log(20.0), 0.4, N)


def test_network_time_is_separated_from_service(tmp_path):
    service = wire() - 30.0
    share = float(service.mean()) * 1_000 / 1e6  # of a CPU, at 1,000 requests a second
    fit = fit_clone(read_log(write_study(tmp_path, wire(), share)))
    assert fit.log.n == N * 9 // 10
    assert fit.clone.document["outside_us"] == pytest.approx(30.0, rel=0.05)
    assert fit.clone.mean_busy_us == pytest.approx(service.mean(), rel=0.05)


def test_without_the_servers_cpu_time_the_network_time_is_unknown(tmp_path):
    log = read_log(write_study(tmp_path, wire(), None))
    assert log.outside_us == 0.0
    note = by_code(log.unknown)["unknown-network-time"]
    assert note.values["shortest_us"] == pytest.approx(30.0, rel=0.3)


def test_a_study_at_high_load_is_refused(tmp_path):
    with raises(UsageError, "unsuitable-load", value=0.4, most=0.15):
        read_log(write_study(tmp_path, wire(), 0.4))


def test_wire_times_far_above_the_cpu_time_are_refused(tmp_path):
    with raises(Inconclusive, "mostly-waiting", cpu_us=pytest.approx(20.0)):
        read_log(write_study(tmp_path, wire() + 500.0 * (np.arange(N) % 2), 0.02))


def test_a_folder_that_is_not_a_study_is_refused(tmp_path):
    with raises(StudyError, "no-such-study"):
        read_log(tmp_path)


def saturated_study(tmp_path, cost_us, busy=0.98, runs=1):
    return write_study(tmp_path, wire(), busy, busy / cost_us * 1e6, "closed", "saturated", runs)


def test_a_saturated_study_separates_wakeup_from_service(tmp_path):
    """The service takes 8 us after a wake-up of 35 us. At low load alone, all of it would count as service."""
    random = np.random.default_rng(3)
    times = 35.0 + 8.0 * random.lognormal(-0.02, 0.2, N) + np.where(random.random(N) < 0.01, 400.0, 0.0)
    low = write_study(tmp_path, times, 0.02)
    (log,), network_study = read_logs([saturated_study(tmp_path, 8.0), low])
    assert network_study is None
    fit = fit_clone(log)
    document = fit.clone.document
    assert fit.clone.mean_busy_us == pytest.approx(8.0, rel=0.001)
    assert fit.clone.capacity_per_s == pytest.approx(125_000.0, rel=0.001)
    has_stamps = np.arange(N) % 10 > 0
    assert document["wake_us"] == pytest.approx(float(np.median(times[has_stamps])) - 8.0, rel=0.01)
    assert document["outside_us"] == pytest.approx(9.0)  # 2 us until it leaves, 7 us after it has come
    assert float(log.wall_us.std()) == pytest.approx(1.6, rel=0.15)
    assert by_code(fit.unknown)["unknown-service-law"].values["mean_us"] == pytest.approx(8.0)


def test_the_tail_at_half_load_gives_the_variation_of_services(tmp_path):
    """Wire times vary by 4 us because of the wake-up; services vary by a factor of 0.3 or 0.9 of 8 us."""
    random = np.random.default_rng(3)
    low = write_study(tmp_path, random.normal(43.0, 4.0, N), 0.02)
    busy = saturated_study(tmp_path, 8.0)
    (alone,), _ = read_logs([low, busy])
    assert alone.wall_us.std() > 3.5, "without half load, the wake-up's variation counts as the service's"
    for planted in (0.3, 0.9):
        sigma = np.sqrt(np.log1p(planted**2))
        law = {"kind": "lognormal", "median_us": 8.0 * np.exp(-(sigma**2) / 2), "sigma_log": sigma}
        clone = Clone.from_document(
            {"schema": "hindmost.clone/1", "name": "it", "service": [{"law": law, "weight": 1.0}]}
            | {"wake_us": alone.wake_us, "outside_us": alone.outside_us},
            "it",
        )
        design = Design(requests=60_000, quantiles=(0.95,), seed=7)
        (estimate,) = run_points(clone, [{"load": {"rate_per_s": 62_500.0}}], design)
        p95 = estimate.prediction.latency_us["p95"].value
        half = write_study(tmp_path, wire(), 0.6, 62_500.0, name=f"half-{planted}", runs=4, p95=p95)
        (log,), _ = read_logs([half, busy, low])
        assert log.wall_us.mean() == pytest.approx(8.0)
        assert log.wall_us.std() / 8.0 == pytest.approx(planted, rel=0.1)
        rows = by_code(log.unknown)["unknown-service-law"].values
        assert rows["scatter"] == pytest.approx(planted, rel=0.1)
        assert rows["scatter_low"] <= rows["scatter"] <= rows["scatter_high"]


def test_a_study_far_from_half_load_is_refused(tmp_path):
    low, busy = write_study(tmp_path, wire(), 0.02), saturated_study(tmp_path, 8.0)
    idle = write_study(tmp_path, wire(), 0.1, 12_500.0, name="idle", p95=50.0)
    load, rate = pytest.approx(0.1), pytest.approx(62_500.0)
    with raises(UsageError, "unsuitable-load", value=load, least=0.3, most=0.8, rate_per_s=rate):
        read_logs([low, busy, idle])
    with raises(StudyError, "incomplete-study", key="p95"):
        read_logs([low, busy, write_study(tmp_path, wire(), 0.5, 62_500.0, name="half")])


def test_the_cost_has_an_interval_with_several_runs(tmp_path):
    estimate = read_saturated(saturated_study(tmp_path, 8.0, runs=4))
    assert estimate.low_us < estimate.cost_us < estimate.high_us
    assert np.isnan(read_saturated(write_study(tmp_path, wire(), 0.98, 1e5, "closed", "one")).low_us)


def test_studies_that_do_not_belong_together_are_refused(tmp_path):
    low, busy = write_study(tmp_path, wire(), 0.02), saturated_study(tmp_path, 8.0)
    for sources in ([busy], [low, low, low, busy]):
        with raises(UsageError, "wrong-sources", path=str(busy), have=len(sources)):
            read_logs(sources)
    with raises(Inconclusive, "different-servers", value=pytest.approx(196.0)):
        read_logs([low, write_study(tmp_path, wire(), 0.98, 5_000.0, "closed", "slow")])
    with raises(UsageError, "unsaturated-server", value=0.4, least=0.9):
        read_logs([low, write_study(tmp_path, wire(), 0.4, 5_000.0, "closed", "idle")])


def test_a_study_with_logs_gives_the_time_outside_the_server(tmp_path):
    random = np.random.default_rng(5)
    start = np.cumsum(random.exponential(500.0, N))
    service = random.lognormal(np.log(80.0), 0.3, N)
    log = Log("x.csv", "0" * 64, "", service, start_us=start - start[0], arrival_us=start - start[0])
    folder = tmp_path / "low"
    folder.mkdir()

    def write_result(p50, rate):
        answer = valid(3, 1)
        answer["throughput"]["achieved"] = rate
        for row, step in zip(answer["runs"], (-1.0, 0.0, 1.0), strict=True):
            row["latency_us"] = {"p50": p50 + step}
        (folder / "result.json").write_text(json.dumps(answer))
        return folder

    document = fit_clone(log, way=write_result(125.0, 100.0)).clone.document
    assert document["wake_us"] == pytest.approx(45.0, abs=1.5)  # almost no request waits at 100/s
    low, high = document["origin"]["intervals"]["wake_us"]
    assert low < 45.0 < high
    with raises(UsageError, "unsuitable-load", value=9_000.0):
        fit_clone(log, way=write_result(125.0, 9_000.0))
    with raises(UsageError, "different-servers", value=pytest.approx(60.0, abs=0.1)):
        fit_clone(log, way=write_result(60.0, 100.0))
    fit = fit_clone(log, way=write_result(77.0, 100.0))
    short = fit.clone.document
    assert "wake_us" not in short
    assert "wake_us" not in short["origin"]["intervals"]
    note = by_code(fit.unknown)["no-wakeup-time"]
    assert note.text in short["origin"]["unknown"]


def test_the_study_among_several_paths_gives_the_network_time(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("service_us\n" + "\n".join(f"{80 + n % 7}.{n % 10}" for n in range(3_000)))
    first = write_study(tmp_path, wire(), 0.02)
    assert read_logs([log, first])[1] == first
    assert read_logs([first])[1] is None
    with raises(UsageError, "wrong-sources", have=2, most=1):
        read_logs([log, first, write_study(tmp_path, wire(), 0.02, name="other")])
