"""Schemas of the documents of a study: current and consistent with written documents."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from rows import each_row
from schemas import texts

import hindmost
from hindmost import _engine
from hindmost.cli import main
from hindmost.commands.clone.fit import Log, account, fit_clone
from hindmost.core.store.estimates import encode
from hindmost.core.store.reading import read_document
from hindmost.core.store.schema import schemas

GOLDEN = Path(__file__).parents[1] / "golden/data"
RESULTS = Path(__file__).parents[2] / "examples" / "attribution" / "results"


def check(name, text):
    jsonschema.Draft202012Validator(schemas()[name]).validate(json.loads(text))


@each_row("name", texts())
def test_every_format_has_a_schema(name):
    jsonschema.Draft202012Validator.check_schema(json.loads(texts()[name]))


@pytest.mark.parametrize("name", ["run", "client"])
def test_runs_and_clients_follow_their_schemas(made_study, name):
    files = sorted(made_study[0].glob(f"runs/*/{name}*.json"))
    assert files
    for file in files:
        check(name, file.read_text())


def test_a_manifest_follows_its_schema(made_study):
    manifest = json.loads((made_study[0] / "manifest.json").read_text())
    made_by_hand = {"created": "2026-11-20T10:00:00Z", "version": "0.1.0", "python": "3.11.0"}
    check("study", json.dumps(made_by_hand | manifest))


def test_a_diagnosis_follows_its_schema():
    check("doctor", json.dumps({"schema": "hindmost.doctor/2", **json.loads(_engine.doctor("/", 0.01))}))


@pytest.mark.parametrize("kinds", [False, True])
def test_a_fit_follows_its_schema(kinds):
    random = np.random.default_rng(1)
    service = random.lognormal(4.0, 0.4, 3_000)
    logs = []
    for rate in (2_000, 8_000):
        start = np.cumsum(service + random.exponential(1e6 / rate, 3_000))
        cpu = np.where(random.random(3_000) < 0.01, service - 30.0, service)
        kind = np.arange(3_000) % 2 if kinds else None
        logs.append(
            Log(
                "x.csv",
                "0" * 64,
                "end_ns - start_ns",
                service,
                np.maximum(cpu, 1.0),
                start,
                start - 1.0,
                kind=kind,
                kinds=("a", "b") if kinds else (),
            )
        )
    fitted = account(fit_clone(*logs))
    assert (fitted.disturbance, bool(fitted.kinds)) != (None, not kinds)
    check("fit", encode(fitted))


@pytest.mark.parametrize(
    "words", [["list", "--all"], ["get", "swappiness"], ["restore"]], ids=["list", "get", "restore"]
)
def test_knob_documents_follow_their_schema(tmp_path, capsys, words):
    assert main(["host", "knobs", *words, "--json", "--journal", str(tmp_path)]) == 0
    check("knobs", capsys.readouterr().out)


@pytest.mark.parametrize("wrong", [{"schema": "hindmost.instance/2"}, {"counts": {}}, {"steal_share": 1.5}])
def test_a_schema_refuses_invalid_documents(made_study, wrong):
    document = json.loads((made_study[0] / "runs" / "0001" / "client-0.json").read_text()) | wrong
    with pytest.raises(jsonschema.ValidationError):
        check("client", json.dumps(document))


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json")), ids=lambda file: file.stem)
def test_example_studies_follow_their_schema(file):
    check("attribution", encode(read_document(file)))


def test_every_document_type_has_a_schema():
    package = Path(hindmost.__file__).parent
    texts = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    named = set(re.findall(r'^    schema: Literal\["hindmost\.([\w-]+)/\d"\]', texts, re.MULTILINE))
    assert len(named) > 20
    assert named <= set(schemas())


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("diagnosis*.json")), ids=lambda file: file.stem)
def test_a_diagnosis_of_a_server_follows_its_schema(file):
    check("diagnosis", file.read_text(encoding="utf-8"))
