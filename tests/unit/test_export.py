"""A stored study as CSV, Parquet, OpenMetrics and OTLP."""

import csv
import json
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from messages import raises

import hindmost
from hindmost.cli import main
from hindmost.commands.study.cli.export import export as export_command
from hindmost.commands.study.export import Metric, export_study, openmetrics
from hindmost.commands.study.push import push_study
from hindmost.errors import StudyError, UsageError
from hindmost.results import Result

TIME = re.compile(rb'"timeUnixNano": "\d+"')
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


@pytest.fixture
def collector():
    """A server that keeps requests and answers with `status` and `reply`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.requests.append((self.path, dict(self.headers), body))
            self.send_response(self.server.status)
            if self.server.status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(self.server.reply)))
            self.end_headers()
            self.wfile.write(self.server.reply)

        def log_message(self, *_):
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.status, server.reply = [], 200, b"{}"
        server.url = f"http://127.0.0.1:{server.server_port}/v1/metrics"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def push(study, url, *options):
    return main(["study", "export", str(study), "--as", "otlp", "--push", url, *options])


def test_figures_are_pushed_to_a_collector_with_resolved_headers(study, collector, tmp_path, monkeypatch):
    monkeypatch.setenv("COLLECTOR_TOKEN", "s3cret")
    assert push(study, collector.url, "--header", "Authorization: Bearer env:COLLECTOR_TOKEN") == 0
    ((path, headers, body),) = collector.requests
    assert (path, headers["Content-Type"]) == ("/v1/metrics", "application/json")
    assert headers["Authorization"] == "Bearer s3cret"
    written = export(study, "otlp", tmp_path).read_bytes()
    assert TIME.sub(b"", body) == TIME.sub(b"", written)


@pytest.mark.parametrize(
    ("status", "reply"),
    [
        (200, b'{"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}'),
        (302, b""),
        (400, b"no such thing"),
        (503, b""),
    ],
)
def test_figures_that_a_collector_does_not_take_are_an_error(study, collector, status, reply):
    collector.status, collector.reply = status, reply
    with raises(StudyError, "push-failed", url=collector.url, status=status):
        push_study(study, collector.url, {})
    assert len(collector.requests) == 1


def test_what_cannot_be_pushed_is_refused(study, tmp_path):
    url = "http://127.0.0.1:1/v1/metrics"
    with raises(StudyError, "push-failed", url=url, status=None):
        push_study(study, url, {})
    with raises(UsageError, "bad-value", option="--push", value="collector:4318"):
        push_study(study, "collector:4318", {})
    for form, out, other in [("csv", None, "--as"), ("otlp", tmp_path, "--out")]:
        with raises(UsageError, "conflicting-options", options=["--push", other]):
            export_command(study, as_=form, out=out, push=url)
