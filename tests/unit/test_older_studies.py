"""A study that version 0.1.0 stored, with the names of that time, is read with the names of today."""

import json
import tarfile
from pathlib import Path

import pytest

import hindmost
from hindmost.cli import main

STORED = Path(__file__).parents[1] / "golden/data/study-0.1.tar.gz"
P95_US, SEND_DELAY_P95_US, REQUESTS = 291.775, 75.467, 1161


@pytest.fixture
def older(tmp_path):
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "study"


def test_its_runs_give_the_same_figures_under_new_names(older, capsys):
    assert main(["study", "report", str(older), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "hindmost.measure/2"
    assert told["latency_us"]["p95"]["value"] == P95_US
    assert told["send_delay_us"]["p95"]["value"] == SEND_DELAY_P95_US
    assert (told["counts"]["scheduled"], told["counts"]["completed"]) == (REQUESTS, REQUESTS)
    assert told["clients"]["count"] == 2


def test_its_stored_result_and_requests_are_read(older):
    result = hindmost.open_study(older)
    assert result.document["send_delay_us"]["p95"]["value"] == SEND_DELAY_P95_US
    late = pytest.importorskip("polars") and result.requests().collect()
    assert (late["completed_ns"] >= late["scheduled_ns"]).all()
    assert late["latency_us"].min() > 0
