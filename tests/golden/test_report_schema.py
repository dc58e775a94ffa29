"""The samples follow the schema of result.json, and wrong documents do not."""

import json

import jsonschema
import pytest
from rows import each_row
from sample_results import SAMPLES, valid

from hindmost.core.store.estimates import encode
from hindmost.core.store.schema import schemas


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_follow_the_schema(name):
    document = json.loads(encode(SAMPLES[name]()))
    jsonschema.Draft202012Validator(schemas()["measure"]).validate(document)


@each_row(
    ("path", "wrong"),
    [
        (("verdict",), "good"),
        (("schema",), "hindmost.measure/1"),
        (("counts", "scheduled"), -1),
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
        jsonschema.Draft202012Validator(schemas()["measure"]).validate(document)
