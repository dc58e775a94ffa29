"""Files of other tools as lists of requests: vegeta targets, HAR, OpenAPI."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from messages import raises

from hindmost import _engine
from hindmost.errors import UsageError
from hindmost.plan.sources import read_requests

VEGETA = """\
# two alike, and one with a body
GET http://shop:8080/items?page=1
X-Tenant: a

GET http://shop:8080/items?page=1
X-Tenant: a

POST http://shop:8080/orders
Content-Type: application/json
@order.json
"""


def read(tmp_path: Path, name: str, text: str) -> list[dict]:
    (tmp_path / name).write_text(text)
    workload = read_requests(tmp_path / name)
    plan = {
        "schema": "hindmost.plan/1",
        "seed": 1,
        "target": {"protocol": "http", "address": "h:1"},
        "load": {"loop": "open", "rate_per_s": 1.0},
        "workload": workload,
    }
    _engine.check_plan(json.dumps(plan))  # the engine takes what is read
    return workload["requests"]


def test_targets_of_vegeta_are_requests_and_those_that_are_alike_have_their_number_as_weight(tmp_path: Path):
    (tmp_path / "order.json").write_text("{}")
    first, second = read(tmp_path, "targets.txt", VEGETA)
    assert first == {"method": "GET", "path": "/items?page=1", "headers": {"X-Tenant": "a"}, "weight": 2}
    assert second["body"] == {"file": str(tmp_path / "order.json")}
    assert (second["method"], second["path"], second["weight"]) == ("POST", "/orders", 1)


def test_targets_of_vegeta_in_json_have_their_bodies_in_base64(tmp_path: Path):
    body = base64.b64encode(b'{"a":{{1}}}').decode()
    line = {"method": "PUT", "url": "http://h/x", "header": {"A": ["1", "2"]}, "body": body}
    (one,) = read(tmp_path, "targets.json", json.dumps(line) + "\n")
    assert one["headers"] == {"A": "1, 2"}
    assert one["body"] == '{"a":{{{{1}}}', "what looks like a field is none"


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ("GET http://h/\n\nX: y\n", "bad-file", {"line": 3, "value": "X: y"}),
        ("GET http://h/\nnonsense\n", "bad-file", {"line": 2, "value": "nonsense"}),
        ("POST http://h/\n@absent.json\n", "no-such-file", {"line": 2}),
        ("GET ftp://h/\n", "bad-file", {"line": 1, "value": "ftp://h/"}),
        ('{"method": "GET"}\n', "bad-file", {"line": 1}),
        ("", "bad-file", {"line": None}),
    ],
)
def test_a_wrong_line_is_refused_by_its_number(tmp_path: Path, text: str, code: str, fields: dict):
    (tmp_path / "targets.txt").write_text(text)
    with raises(UsageError, code, path=str(tmp_path / "targets.txt"), **fields):
        read_requests(tmp_path / "targets.txt")


def entry(url: str, method: str = "GET", **more: object) -> dict:
    headers = [
        {"name": ":authority", "value": "x"},
        {"name": "Host", "value": "x"},
        {"name": "A", "value": "b"},
    ]
    return {"request": {"method": method, "url": url, "headers": headers, **more}}


def test_requests_of_a_har_file_are_those_to_its_most_frequent_host(tmp_path: Path):
    entries = [
        entry("https://shop/a"),
        entry("https://elsewhere/pixel.gif"),
        entry("https://shop/b?c=d", "POST", postData={"mimeType": "text/plain", "text": "hello"}),
    ]
    first, second = read(tmp_path, "shop.har", json.dumps({"log": {"version": "1.2", "entries": entries}}))
    assert (first["path"], first["headers"]) == ("/a", {"A": "b"})
    assert (second["method"], second["path"], second["body"]) == ("POST", "/b?c=d", "hello")


OPENAPI = """\
openapi: 3.0.3
servers: [{url: https://api.example.org/v1}]
paths:
  /pets/{id}:
    parameters: [{$ref: '#/components/parameters/Id'}]
    get:
      operationId: show pet
      responses: {'200': {description: ok}, '404': {description: none}}
  /pets:
    post:
      requestBody:
        content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
      parameters: [{name: kind, in: query, required: true, schema: {type: string, enum: [c at]}}]
      responses: {'201': {description: made}}
components:
  parameters: {Id: {name: id, in: path, required: true, schema: {type: integer, minimum: 5, maximum: 7}}}
  schemas:
    Pet:
      type: object
      properties:
        id: {type: string, format: uuid}
        tags: {type: array, items: {type: integer}}
        owner: {type: object, properties: {name: {type: string, example: 'A "B"'}}}
"""


def test_operations_of_an_openapi_document_are_requests_with_values_of_their_schemas(tmp_path: Path):
    pytest.importorskip("yaml")
    show, make = read(tmp_path, "api.yaml", OPENAPI)
    assert (show["name"], show["path"], show["accept"]) == ("show_pet", "/v1/pets/{{int:5..7}}", [200])
    assert (make["method"], make["path"], make["accept"]) == ("POST", "/v1/pets?kind=c%20at", [201])
    assert make["headers"] == {"Content-Type": "application/json"}
    body = make["body"].replace("{{int:1..1000}}", "1").replace("{{uuid}}", "u")
    assert json.loads(body) == {"id": "u", "tags": [1], "owner": {"name": 'A "B"'}}


def test_a_reference_that_leads_nowhere_is_told(tmp_path: Path):
    document = {"openapi": "3.1.0", "paths": {"/": {"get": {"$ref": "#/not/there"}}}}
    (tmp_path / "api.json").write_text(json.dumps(document))
    with raises(UsageError, "bad-file", path=str(tmp_path / "api.json"), key="#/not/there"):
        read_requests(tmp_path / "api.json")


def test_more_names_than_the_engine_keeps_apart_are_counted_by_method(tmp_path: Path):
    lines = "\n\n".join(f"{'GET' if n % 2 else 'PUT'} http://h/{n}" for n in range(100))
    requests = read(tmp_path, "targets.txt", lines)
    assert len(requests) == 100
    assert {one["name"] for one in requests} == {"get", "put"}
