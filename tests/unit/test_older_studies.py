"""Studies that earlier versions stored are read: 0.1 with the names of that time, 0.2 with its own.

Those of 0.2, with ``synth`` as server and a workload of 50 keys::

    measure synth --rate 500 --runs 3 --duration 400ms --warmup 100ms --quantiles 50,90 --samples 100 --out measure
    compare synth --rate 500 --set threads=1,2 --pairs 6 --duration 300ms --warmup 100ms --quantiles 50 --out trial
"""

import json
import tarfile
from pathlib import Path

import jsonschema
import pytest

import hindmost
from hindmost.cli import main
from hindmost.core.store.schema import schemas

DATA = Path(__file__).parents[1] / "golden/data"
P95_US, SEND_DELAY_P95_US, REQUESTS = 291.775, 75.467, 1161


@pytest.fixture
def old_study(tmp_path):
    with tarfile.open(DATA / "study-0.1.tar.gz") as archive:
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


ANSWERS_OF_0_2 = {
    "measure": ("result.json", "measure", ("latency_us", "isolated", "service_us", "counts", "verdict")),
    "trial": ("trial.json", "trial", ("verdict", "levels", "best")),
}
"""File of each study's answer, its schema, and keys that must not change."""


@pytest.fixture(scope="module")
def studies_of_0_2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    with tarfile.open(DATA / "studies-0.2.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("name", ANSWERS_OF_0_2)
def test_a_study_of_0_2_gives_the_stored_answer_from_its_runs(name, studies_of_0_2, capsys):
    file, schema, keys = ANSWERS_OF_0_2[name]
    stored = json.loads((studies_of_0_2 / name / file).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schemas()[schema]).validate(stored)
    main(["study", "report", str(studies_of_0_2 / name), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert {key: document[key] for key in keys} == {key: stored[key] for key in keys}
