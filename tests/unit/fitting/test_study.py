"""A study at low load is a log of wire times, of which the way lies outside of the server."""

import json

import numpy as np
import polars
import pytest

from hindmost.errors import Inconclusive, StudyError, UsageError
from hindmost.models.fit import fit_clone, read_log

N = 5_000


def study(tmp_path, wire_us, server_cpu_share, achieved=1_000.0):
    """The files of a study with one run, as far as the fit reads them."""
    folder = tmp_path / "study"
    run = folder / "runs" / "0001"
    run.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"schema": "hindmost.study/1", "plan": {}, "host": {}}))
    (run / "run.json").write_text(json.dumps({"schema": "hindmost.run/1", "target": {}}))
    answer = {"runs": [{"server_cpu_share": server_cpu_share}], "throughput": {"achieved": achieved}}
    (folder / "result.json").write_text(json.dumps(answer))
    sent = np.arange(len(wire_us)) * 1_000_000
    back = sent + 2_000 + np.round(np.asarray(wire_us) * 1e3).astype(np.int64)
    frame = polars.DataFrame({"sent_ns": sent, "wire_out_ns": sent + 2_000, "wire_in_ns": back})
    # One request in ten has no stamps.
    there = polars.int_range(frame.height) % 10 > 0
    stamped = polars.when(there).then(polars.col("wire_in_ns")).alias("wire_in_ns")
    frame.with_columns(stamped).write_parquet(run / "samples-0.parquet", compression="snappy")
    return folder


def wire(seed=1):
    return 30.0 + np.random.default_rng(seed).lognormal(np.log(20.0), 0.4, N)


def test_the_way_goes_outside_and_the_rest_is_service(tmp_path):
    service = wire() - 30.0
    share = float(service.mean()) * 1_000 / 1e6  # of a CPU, at 1,000 requests a second
    fitted = fit_clone(read_log(study(tmp_path, wire(), share)))
    assert fitted.log.n == N * 9 // 10
    assert fitted.clone.document["outside_us"] == pytest.approx(30.0, rel=0.05)
    assert fitted.clone.mean_busy_us == pytest.approx(service.mean(), rel=0.05)


def test_without_the_servers_cpu_time_the_way_is_unknown(tmp_path):
    log = read_log(study(tmp_path, wire(), None))
    assert log.outside_us == 0.0
    assert any("is the way" in text for text in log.unknown)


def test_a_study_at_high_load_is_refused(tmp_path):
    with pytest.raises(UsageError, match="the server used 40% of a CPU"):
        read_log(study(tmp_path, wire(), 0.4))


def test_wire_times_far_above_the_cpu_time_are_refused(tmp_path):
    with pytest.raises(Inconclusive, match="neighbours or of waiting"):
        read_log(study(tmp_path, wire() + 500.0 * (np.arange(N) % 2), 0.02))


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(StudyError, match="holds no study"):
        read_log(tmp_path)
