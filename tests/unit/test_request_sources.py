"""Lists of requests from files of other tools: vegeta targets, HAR, OpenAPI."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from messages import raises

from hindmost import _engine
from hindmost.core.plan.sources import openapi as openapi_source
from hindmost.core.plan.sources import read_requests
from hindmost.errors import UsageError

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
    requests, notes = read_with_notes(tmp_path, name, text)
    assert notes == {}
    return requests


def read_with_notes(tmp_path: Path, name: str, text: str) -> tuple[list[dict], dict[str, dict]]:
    """Return the requests, and the values of notes by code."""
    (tmp_path / name).write_text(text)
    workload, notes = read_requests(tmp_path / name)
    plan = {
        "schema": "hindmost.plan/1",
        "seed": 1,
        "target": {"protocol": "http", "address": "h:1"},
        "load": {"loop": "open", "rate_per_s": 1.0},
        "workload": workload,
    }
    _engine.check_plan(json.dumps(plan))  # the engine accepts the requests
    return workload["requests"], {note.code: dict(note.values) for note in notes}


def left_out(notes: dict[str, dict]) -> list[tuple]:
    """Return the position of each entry that the note lists, and the code of its reason."""
    return [
        (entry.get("line") or entry.get("entry") or entry.get("operation"), entry["code"])
        for entry in notes["requests-left-out"]["first"]
    ]


def test_equal_targets_of_vegeta_are_one_request_with_a_weight(tmp_path: Path):
    (tmp_path / "order.json").write_text("{}")
    first, second = read(tmp_path, "targets.txt", VEGETA)
    assert first == {"method": "GET", "path": "/items?page=1", "headers": {"X-Tenant": "a"}, "weight": 2}
    assert second["body"] == {"file": str(tmp_path / "order.json")}
    assert (second["method"], second["path"], second["weight"]) == ("POST", "/orders", 1)


def test_targets_of_vegeta_in_json_have_their_bodies_in_base64(tmp_path: Path):
    body = base64.b64encode(b'{"a":{{1}}}').decode()
    line = {"method": "PUT", "url": "http://h/x", "header": {"A": ["1", "2"]}, "body": body}
    (request,) = read(tmp_path, "targets.json", json.dumps(line) + "\n")
    assert request["headers"] == {"A": "1, 2"}
    assert request["body"] == '{"a":{{{{1}}}', "text like a template field is escaped"


@pytest.mark.parametrize(
    ("text", "code", "fields"),
    [
        ("X: y\n", "bad-file", {"line": 1, "value": "X: y"}),
        ("GET http://h/\nnonsense\n", "bad-file", {"line": 2, "value": "nonsense"}),
        ("POST http://h/\n@absent.json\n", "no-such-file", {"line": 2}),
        ("GET ftp://h/\n", "bad-file", {"line": 1, "value": "ftp://h/"}),
        ('{"method": "GET"}\n', "bad-file", {"line": 1}),
        ("GET http://[bad/x\n", "bad-file", {"line": 1, "value": "http://[bad/x"}),
        ("", "bad-file", {"line": None}),
    ],
)
def test_a_file_without_requests_is_refused_by_its_first_wrong_line(
    tmp_path: Path, text: str, code: str, fields: dict
):
    (tmp_path / "targets.txt").write_text(text)
    with raises(UsageError, code, path=str(tmp_path / "targets.txt"), **fields):
        read_requests(tmp_path / "targets.txt")


def test_a_wrong_target_is_left_out_by_its_line_and_the_others_are_read(tmp_path: Path):
    text = "GET http://h/a\n\n# odd\nX: y\n\nget http://h/b\n\nPOST http://h/c\nnonsense\nA: b\n\nGET http://i/\n"
    requests, notes = read_with_notes(tmp_path, "targets.txt", text)
    assert [(request["method"], request["path"]) for request in requests] == [("GET", "/a"), ("GET", "/b")]
    assert left_out(notes) == [(4, "bad-file"), (9, "bad-file"), (12, "other-host")]
    assert (notes["requests-left-out"]["count"], notes["requests-left-out"]["of"]) == (3, 5)


def test_targets_in_json_can_be_a_list_with_binary_bodies(tmp_path: Path):
    targets = [{"method": "POST", "url": "http://h/", "body": "//79", "header": {"A": "12"}}, 7]
    (request,), notes = read_with_notes(tmp_path, "targets.json", json.dumps(targets))
    assert (request["body"], request["headers"]) == ({"hex": "fffefd"}, {"A": "12"})
    assert left_out(notes) == [(2, "bad-file")]


def entry(url: str, method: str = "GET", **more: object) -> dict:
    headers = [
        {"name": ":authority", "value": "x"},
        {"name": "Host", "value": "x"},
        {"name": "A", "value": "b"},
    ]
    return {"request": {"method": method, "url": url, "headers": headers, **more}}


def read_har(tmp_path: Path, *entries: dict) -> tuple[list[dict], dict[str, dict]]:
    return read_with_notes(
        tmp_path, "a.har", json.dumps({"log": {"version": "1.2", "entries": list(entries)}})
    )


ODD = [
    entry("wss://shop/live", ""),
    entry("data:image/png;base64,AAAA"),
    entry("http://[bad/x"),
    entry("https://shop/odd", "GE T"),
    entry("https://shop/\ud800"),
    entry("https://shop/upload", "POST", postData={"mimeType": "text/plain"}, bodySize=9),
    {"request": None},
    7,
]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_entry_of_a_har_file_is_left_out_and_the_others_are_read(tmp_path: Path, odd):
    requests, notes = read_har(tmp_path, entry("https://shop/a"), odd)
    assert ([request["path"] for request in requests], left_out(notes)) == (["/a"], [(2, "bad-file")])


def form(kind: str, *pairs: tuple[str, str], **more: object) -> dict:
    params = [{"name": name, "value": value, **more} for name, value in pairs]
    return {"mimeType": kind, "params": params}


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (None, None),
        (form(FORM, ("a b", "100 %"), ("c", "")), "a+b=100+%25&c="),
        (form(FORM, ("f%5B1%5D", "x%26y")), "f%5B1%5D=x%26y"),
        ({"encoding": "base64", "text": "/+8="}, {"hex": "ffef"}),
        ({"encoding": "base64", "text": base64.b64encode(b"{{a").decode()}, "{{{{a"),
        (
            form("multipart/form-data; boundary=xx", ("a", "1"), contentType="text/plain"),
            '--xx\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: text/plain\r\n\r\n1\r\n--xx--\r\n',
        ),
    ],
)
def test_a_har_body_is_sent_unchanged(tmp_path: Path, data, body):
    (request,), notes = read_har(tmp_path, entry("https://shop/", "POST", postData=data))
    assert (request.get("body"), notes) == (body, {})
    kind = (data or {}).get("mimeType")
    assert request["headers"].get("Content-Type") == kind


def test_repeated_headers_of_a_har_file_are_joined(tmp_path: Path):
    headers = [{"name": name, "value": value} for name, value in (("Cookie", "a=1"), ("cookie", "b=2"))]
    headers += [
        {"name": "X", "value": "1"},
        {"name": "x", "value": "2"},
        {"name": "Content-Length", "value": "9"},
    ]
    (with_both, without_headers, cookies_only), _ = read_har(
        tmp_path,
        {"request": {"method": "get", "url": "https://shop/a b?c=é", "headers": headers}},
        {"request": {"method": "GET", "url": "https://shop:443/n", "headers": None}},
        {"request": {"method": "GET", "url": "https://shop/c", "cookies": [{"name": "s", "value": "1"}]}},
    )
    assert with_both["headers"] == {"Cookie": "a=1; b=2", "X": "1, 2"}
    assert (with_both["method"], with_both["path"]) == ("GET", "/a%20b?c=%C3%A9")
    assert "headers" not in without_headers
    assert cookies_only["headers"] == {"Cookie": "s=1"}


def test_requests_of_a_har_file_are_those_to_its_most_frequent_host(tmp_path: Path):
    entries = [
        entry("https://shop/a"),
        entry("https://elsewhere/pixel.gif"),
        entry("https://shop/b?c=d", "POST", postData={"mimeType": "text/plain", "text": "hello"}),
    ]
    (first, second), notes = read_har(tmp_path, *entries)
    assert left_out(notes) == [(2, "other-host")]
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


def openapi(operations: dict, **more: object) -> str:
    """Return a document with these GET operations by path."""
    paths = {path: {"get": {"responses": {"200": {}}, **one}} for path, one in operations.items()}
    return json.dumps({"openapi": "3.0.3", "paths": paths, **more})


def test_equal_bodies_are_encoded_once(tmp_path: Path, monkeypatch):
    encoded = []
    reader = openapi_source._Reader
    encode = reader.encode
    monkeypatch.setattr(reader, "encode", lambda *arguments: encoded.append(1) or encode(*arguments))
    values = [True, 1, 1.0, "1", True, 1]
    schemas = [{"type": "object", "properties": {"a": {"default": value}}} for value in values]
    bodies = [{"content": {"application/json": {"schema": schema}}} for schema in schemas]
    text = openapi({f"/{at}": {"requestBody": body} for at, body in enumerate(bodies)})
    sent = [request["body"] for request in read(tmp_path, "api.json", text)]
    assert [repr(json.loads(body)["a"]) for body in sent] == [repr(value) for value in values]
    assert len(encoded) == 4


def query(schema: object, **more: object) -> dict:
    return {"parameters": [{"name": "q", "in": "query", "required": True, "schema": schema, **more}]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "minimum": None}, "{{int:1..1000}}"),
        ({"type": "integer", "maximum": -5}, "{{int:-1004..-5}}"),
        ({"type": "integer", "maximum": 1e400}, "{{int:1..1000}}"),
        ({"type": "number", "minimum": 0.01, "maximum": 1.7976931348623157e308}, "{{int:1..999}}"),
        ({"type": "number", "minimum": 0.25, "maximum": 0.75}, "0.5"),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 9}, "{{int:1..9}}"),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 9}, "{{int:4..8}}"),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, "10"),
        ({"type": "string", "minLength": 0, "maxLength": 2147483647}, "{{string:1..64}}"),
        ({"type": "string", "maxLength": 5}, "{{string:5..5}}"),
        ({"type": "string", "format": "ipv4"}, "192.0.2.1"),
        (True, "{{string:8..8}}"),
        ({"type": "array", "items": {"enum": ["a b"]}}, "a%20b"),
        ({"allOf": [{"type": "integer"}, {"minimum": 3, "maximum": 4}]}, "{{int:3..4}}"),
    ],
)
def test_a_value_is_within_the_bounds_of_its_schema(tmp_path: Path, schema, value):
    (request,) = read(tmp_path, "api.json", openapi({"/a": query(schema)}))
    assert request["path"] == f"/a?q={value}"


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        (query({"type": "integer", "minimum": "abc"}), "bad-file"),
        (query({"type": "integer", "minimum": 5, "maximum": 4}), "bad-file"),
        (query({"type": "string", "minLength": 9_999_999}), "bad-file"),
        (query({"$ref": "other.yaml#/A"}), "unsupported"),
        (query({"$ref": "#/not/there"}), "bad-file"),
        (query({"type": "array", "items": {"type": "object"}}), "unsupported"),
        (query([]), "bad-file"),
        ({"requestBody": {"content": {"application/xml": {"schema": {"type": "object"}}}}}, "unsupported"),
        ({"parameters": {"q": 1}}, "bad-file"),
        (7, "bad-file"),
    ],
)
def test_an_odd_operation_is_left_out_and_the_others_are_read(tmp_path: Path, odd, code):
    document = json.loads(openapi({"/ok": {}}))
    document["paths"]["/odd"] = {"get": odd}
    requests, notes = read_with_notes(tmp_path, "api.json", json.dumps(document))
    assert ([request["path"] for request in requests], left_out(notes)) == (["/ok"], [("GET /odd", code)])


def test_an_operation_with_an_undescribed_path_parameter_is_left_out(tmp_path: Path):
    _, notes = read_with_notes(tmp_path, "api.json", openapi({"/ok": {}, "/{id}": {}}))
    assert left_out(notes) == [("GET /{id}", "bad-file")]


@pytest.mark.parametrize(
    ("kind", "media", "content_type", "body"),
    [
        (FORM, {"schema": {"properties": {"a": {"enum": ["x y"]}, "b": {"type": "boolean"}}}}, FORM,
         "a=x%20y&b={{choice:true|false}}"),
        ("application/xml", {"example": "<a/>"}, "application/xml", "<a/>"),
        ("text/plain", {}, "text/plain", "{{string:8..8}}"),
        ("application/json", {"schema": {"properties": {"a": False, "b": {"readOnly": True}, "c": {"const": 1}}}},
         "application/json", '{ "c":1 }'),
        ("multipart/form-data", {"schema": {"properties": {"f": {"format": "binary"}}}},
         "multipart/form-data; boundary=hindmost-boundary",
         '--hindmost-boundary\r\nContent-Disposition: form-data; name="f"; filename="file"\r\n\r\n'
         "{{string:8..8}}\r\n--hindmost-boundary--\r\n"),
    ],
)  # fmt: skip
def test_a_body_is_written_in_its_media_type(tmp_path: Path, kind, media, content_type, body):
    (request,) = read(tmp_path, "api.json", openapi({"/a": {"requestBody": {"content": {kind: media}}}}))
    assert (request["body"], request["headers"]["Content-Type"]) == (body, content_type)


def test_parameters_follow_their_location_and_style(tmp_path: Path):
    parameters = [
        {"name": "s", "in": "cookie", "required": True, "example": "1"},
        {"name": "l", "in": "query", "required": True, "example": [1, 2]},
        {"name": "c", "in": "query", "required": True, "example": [1, 2], "explode": False},
        {"name": "d", "in": "query", "required": True, "example": {"k": 1}, "style": "deepObject"},
        {"name": "p", "in": "path", "required": True, "schema": {"example": "a/b"}},
    ]
    (request,) = read(tmp_path, "api.json", openapi({"/{p}": {"parameters": parameters}}))
    assert request["path"] == "/a%2Fb?l=1&l=2&c=1,2&d%5Bk%5D=1"
    assert request["headers"] == {"Cookie": "s=1"}


def test_a_form_of_swagger_2_is_sent(tmp_path: Path):
    form = {
        "parameters": [{"name": "a", "in": "formData", "type": "string", "default": "b"}],
        "responses": {},
    }
    document = {"swagger": "2.0", "basePath": "/v1", "paths": {"/a": {"post": form}}}
    (request,) = read(tmp_path, "api.json", json.dumps(document))
    assert (request["path"], request["body"], request["headers"]) == ("/v1/a", "a=b", {"Content-Type": FORM})


@pytest.mark.parametrize(
    ("servers", "path"),
    [
        ([{"url": "https://{h}:{p}/{b}", "variables": {"h": {"default": "a"}, "p": {"default": "1"},
                                                       "b": {"default": "v2"}}}], "/v2/a"),
        ([{"url": "{s}://h/ds/", "variables": {"s": {"enum": ["https"]}}}], "/ds/a"),
        ([], "/a"),
        ([{"url": "http://[::1/x"}], None),
        ([{"url": "https://[{ip}]/v"}], None),
        ({"url": "/v"}, None),
        (["/v"], None),
    ],
)  # fmt: skip
def test_the_path_of_the_server_comes_first(tmp_path: Path, servers, path):
    text = openapi({"/a": {}}, servers=servers)
    if path is None:
        (tmp_path / "api.json").write_text(text)
        with raises(UsageError, "bad-file", key="servers"):
            read_requests(tmp_path / "api.json")
    else:
        assert [request["path"] for request in read(tmp_path, "api.json", text)] == [path]


def test_dates_and_no_in_yaml_are_texts(tmp_path: Path):
    pytest.importorskip("yaml")
    text = """\
openapi: 3.0.0
paths:
  /a:
    get:
      parameters:
        - {name: d, in: query, required: true, example: 2020-01-31}
        - {name: t, in: query, required: true, example: 2020-01-31T10:00:00Z}
        - {name: n, in: query, required: true, schema: {enum: [NO, YES]}}
        - {name: s, in: query, required: true, example: 12:30}
        - {name: i, in: query, required: true, example: 010}
      responses: {200: {}, 3XX: {}}
"""
    (request,) = read(tmp_path, "api.yaml", text)
    assert request["path"] == "/a?d=2020-01-31&t=2020-01-31T10%3A00%3A00Z&n=NO&s=12%3A30&i=10"
    assert request["accept"] == [200, "3xx"]


def test_operations_with_a_common_name_are_unnamed(tmp_path: Path):
    operation = {"operationId": "same", "responses": {"200": {}}}
    document = {
        "openapi": "3.0.0",
        "paths": {"/a": {"get": operation, "post": operation}, "/b": {"get": operation}},
    }
    assert not any("name" in request for request in read(tmp_path, "api.json", json.dumps(document)))


def test_long_names_are_shortened_and_stay_distinct(tmp_path: Path):
    long = "x" * 200
    requests, _ = read_har(tmp_path, entry(f"https://shop/{long}a"), entry(f"https://shop/{long}b"))
    assert len({request["name"] for request in requests}) == 2


@pytest.mark.parametrize("name", ["a.json", "a.har", "a.yaml", "a.txt"])
def test_deep_nesting_is_refused(tmp_path: Path, name: str):
    (tmp_path / name).write_text('{"log":' + "[" * 100_000)
    with raises(UsageError, "bad-file"):
        read_requests(tmp_path / name)


def test_a_recursive_schema_ends(tmp_path: Path):
    node = {
        "allOf": [{"$ref": "#/components/schemas/N"}],
        "properties": {"n": {"$ref": "#/components/schemas/N"}},
    }
    body = {"requestBody": {"content": {"application/json": {"schema": node}}}}
    text = openapi({"/ok": {}, "/a": body}, components={"schemas": {"N": node}})
    requests, _ = read_with_notes(tmp_path, "api.json", text)
    assert requests[0]["path"] == "/ok"


@pytest.mark.parametrize("name", ["targets.txt", "targets.json"])
def test_a_byte_order_mark_is_ignored(tmp_path: Path, name: str):
    text = "GET http://h/" if name.endswith("txt") else '{"method":"GET","url":"http://h/"}'
    (request,) = read(tmp_path, name, "\ufeff" + text)
    assert request["path"] == "/"


def test_an_unresolvable_reference_is_refused(tmp_path: Path):
    document = {"openapi": "3.1.0", "paths": {"/": {"get": {"$ref": "#/not/there"}}}}
    (tmp_path / "api.json").write_text(json.dumps(document))
    with raises(UsageError, "bad-file", path=str(tmp_path / "api.json"), key="#/not/there"):
        read_requests(tmp_path / "api.json")


def test_too_many_names_are_counted_by_method(tmp_path: Path):
    lines = "\n\n".join(f"{'GET' if n % 2 else 'PUT'} http://h/{n}" for n in range(100))
    requests, notes = read_with_notes(tmp_path, "targets.txt", lines)
    assert len(requests) == 100
    assert notes["requests-counted-together"] == {"have": 100, "limit": 64}
    assert {request["name"] for request in requests} == {"get", "put"}
