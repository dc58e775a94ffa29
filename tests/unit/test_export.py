"""A stored study as CSV, Parquet, OpenMetrics and OTLP."""

import csv
import json
import re
import shutil

import pytest
from messages import raises

import hindmost
from hindmost.cli import main
from hindmost.commands.study.export import Metric, export_study, openmetrics
from hindmost.results import Result

SAMPLE = re.compile(r"^(\w+)\{(.*)\} (\S+)$")


@pytest.fixture(scope="module")
def study(made_study):
    return made_study[0]


def export(study, form, tmp_path):
    assert main(["study", "export", str(study), "--as", form, "--out", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_the_figures_of_the_result_and_a_row_for_each_run_and_request(study, tmp_path):
    out, result = export(study, "csv", tmp_path), hindmost.open_study(study)
    (p50,) = (row for row in rows(out / "latency.csv") if (row["of"], row["quantile"]) == ("latency", "p50"))
    assert float(p50["value"]) == result.document.latency_us["p50"].value
    assert len(rows(out / "runs.csv")) == len(result.document.runs)
    for kind in ("samples", "worst"):
        frame = result.requests(kind).collect()
        exported = rows(out / f"{kind}.csv")
        assert len(exported) == frame.height > 0
        latencies = [float(row["latency_us"]) for row in exported if row["latency_us"]]
        assert sum(latencies) == pytest.approx(frame["latency_us"].sum())


def test_parquet_has_the_same_tables(study, tmp_path):
    polars = pytest.importorskip("polars")
    out, result = export(study, "parquet", tmp_path), hindmost.open_study(study)
    assert polars.read_parquet(out / "latency.parquet").equals(result.latency)
    assert polars.read_parquet(out / "samples.parquet").height == result.requests().collect().height


def test_openmetrics_has_seconds_counts_and_an_end(study, tmp_path):
    lines, result = (
        export(study, "openmetrics", tmp_path).read_text().splitlines(),
        hindmost.open_study(study),
    )
    assert lines[-1] == "# EOF"
    samples = {}
    for line in lines:
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            samples[name, *sorted(re.findall(r'(?:quantile|bound|of|outcome)="([^"]*)"', labels))] = float(
                value
            )
    p50 = result.document.latency_us["p50"].value
    key = ("hindmost_latency_seconds", *sorted(("latency", "p50", "value")))
    assert samples[key] == pytest.approx(p50 / 1e6)
    counts = result.document.counts
    assert samples["hindmost_requests_total", "completed"] == counts.completed


def test_openmetrics_escapes_labels_and_writes_infinity():
    text = openmetrics([Metric("x", "", "gauge", "X.", {"label": 'a"b\\c\nd'}, float("inf"))])
    assert text.splitlines()[2] == r'hindmost_x{label="a\"b\\c\nd"} +Inf'


def test_openmetrics_has_valid_names_of_labels_for_any_factor():
    text = openmetrics([Metric("x", "", "gauge", "X.", {"numa node": "1", "2nd": "a", "größe": "b"}, 1.0)])
    assert text.splitlines()[2] == 'hindmost_x{numa_node="1",_2nd="a",gr__e="b"} 1'


def test_otlp_is_a_request_with_a_point_for_each_figure(study, tmp_path):
    request = json.loads(export(study, "otlp", tmp_path).read_text())
    ((scope,),) = ([part["scopeMetrics"][0]] for part in request["resourceMetrics"])
    metrics = {metric["name"]: metric for metric in scope["metrics"]}
    assert metrics["hindmost.latency_seconds"]["unit"] == "s"
    requests = metrics["hindmost.requests"]["sum"]
    assert requests["isMonotonic"]
    assert requests["aggregationTemporality"] == 2
    result = hindmost.open_study(study)
    assert sum(point["asDouble"] for point in requests["dataPoints"]) == result.document.counts.scheduled


def test_unknown_formats_and_unwritable_folders_are_refused(study, tmp_path):
    with raises(hindmost.HindmostError, "unknown-name", name="xml"):
        export_study(study, "xml", tmp_path)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with raises(hindmost.HindmostError, "unwritable-file", path=str(tmp_path / "file")):
        export_study(study, "csv", tmp_path / "file")


def test_the_present_folder_is_exported_next_to_itself(study, tmp_path, monkeypatch):
    shutil.copytree(study, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    assert main(["study", "export", ".", "--as", "openmetrics"]) == 0
    assert (tmp_path / "copy-openmetrics.prom").exists()


def test_files_without_requests_leave_no_table_and_nothing_unfinished(study, tmp_path, monkeypatch):
    monkeypatch.setattr(Result, "requests", lambda *_: iter(()))
    written = export_study(study, "csv", tmp_path / "out")
    assert {path.name for path in written} == {path.name for path in (tmp_path / "out").iterdir()}
    assert not any(path.stem in ("samples", "worst") for path in written)
