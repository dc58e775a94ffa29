"""A study that version 0.1.0 stored with the names of that time is read with today's names."""

import json
import tarfile
from pathlib import Path

import pytest

import hindmost
from hindmost.cli import main

STORED = Path(__file__).parents[1] / "golden/data/study-0.1.tar.gz"
P95_US, SEND_DELAY_P95_US, REQUESTS = 291.775, 75.467, 1161


@pytest.fixture
def old_study(tmp_path):
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "study"


def test_an_old_study_gives_the_same_figures_under_new_names(old_study, capsys):
    assert main(["study", "report", str(old_study), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "hindmost.measure/2"
    assert document["latency_us"]["p95"]["value"] == P95_US
    assert document["send_delay_us"]["p95"]["value"] == SEND_DELAY_P95_US
    assert (document["counts"]["scheduled"], document["counts"]["completed"]) == (REQUESTS, REQUESTS)
    assert document["clients"]["count"] == 2


def test_the_stored_result_and_requests_of_an_old_study_are_read(old_study):
    result = hindmost.open_study(old_study)
    assert result.document.send_delay_us["p95"].value == SEND_DELAY_P95_US
    requests = pytest.importorskip("polars") and result.requests().collect()
    assert (requests["completed_ns"] >= requests["scheduled_ns"]).all()
    assert requests["latency_us"].min() > 0
