"""The schema of result.json: up to date, and true of the samples."""

import json
import os
from pathlib import Path

import jsonschema
import pytest
from sample_results import SAMPLES, valid

from hindmost.store.result import json_schema

FILE = Path(__file__).parents[2] / "schemas" / "measure.schema.json"


def test_schema_file_is_what_the_types_say():
    text = json.dumps(json_schema(), indent=1) + "\n"
    if os.environ.get("HINDMOST_REFRESH_GOLDEN") == "1":
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text, "HINDMOST_REFRESH_GOLDEN=1 refreshes it"


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_follow_the_schema(name):
    document = json.loads(json.dumps(SAMPLES[name](), allow_nan=False))
    jsonschema.Draft202012Validator(json_schema()).validate(document)


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("verdict",), "good"),
        (("schema",), "hindmost.measure/2"),
        (("counts", "due"), -1),
        (("latency_us", "p99", "low"), "31"),
        (("latency_us", "99"), {}),
        (("clients", "share_of_all"), [1.2]),
        (("runs",), {}),
    ],
)
def test_schema_refuses_what_is_wrong(path, wrong):
    document = valid(runs=2)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = wrong
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_schema()).validate(document)
