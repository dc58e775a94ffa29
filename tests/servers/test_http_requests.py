"""Requests of HTTP: what was asked for is what arrives, at a server that notes it and at nginx."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from http_recorder import RequestLog, record_requests
from measuring import Answer, assert_counts_add_up, measure, need
from scipy.stats import chisquare

from hindmost.targets import presets

PRESETS = Path(presets.__file__).parent
FEW = ("--clients", "1", "--connections", "4", "--timeout", "1s", "--runs", "1")
WORDS = "s3cret-words-of-the-test"


def measured(notes: RequestLog, folder: Path, *more: object, path: str = "/") -> Answer:
    url = f"http://127.0.0.1:{notes.port}{path}"
    answer = measure(url, folder / "study", *FEW, "--rate", "300", *more)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    assert answer.result["counts"]["errors"] == 0, answer.result["codes"]
    return answer


def workload(folder: Path, document: dict) -> Path:
    file = folder / "workload.json"
    file.write_text(json.dumps({"kind": "http", **document}))
    return file


def test_one_request_by_options_arrives_as_it_was_asked_for_and_what_logs_in_is_nowhere_on_disk(
    tmp_path: Path,
) -> None:
    order = tmp_path / "order.json"
    order.write_bytes(b'{"id": 1, "text": "{{no field}}"}')
    with record_requests() as notes:
        answer = measured(
            notes,
            tmp_path,
            *("--method", "POST", "--body", f"@{order}", "--requests-per-connection", "5"),
            *("--header", f"Authorization: Bearer {WORDS}", "--header", "X-Tenant: a"),
            path="/orders?dry=1",
        )
    for one in notes.requests:
        assert (one.method, one.path, one.body) == ("POST", "/orders?dry=1", order.read_bytes())
        assert one.headers["Authorization"] == f"Bearer {WORDS}"
        assert (one.headers["X-Tenant"], one.headers["Content-Type"]) == ("a", "application/json")
        assert one.headers["Host"] == f"127.0.0.1:{notes.port}"
    looks = [one for one in notes.requests if one.connection == 0]
    assert len(looks) == 1, "a request that must not be made twice is made once to look at the server"
    assert max(Counter(one.connection for one in notes.load_requests).values()) == 5
    found = answer.result["connections"]
    assert (found["by_turns"], found["closed"]) == (False, 0), "it is our doing"
    assert list(answer.result["by_kind"]) == ["post"]
    assert set(answer.result["by_kind"]["post"]["codes"]) == {"200"}
    for file in answer.study.folder.rglob("*"):
        assert not file.is_file() or WORDS.encode() not in file.read_bytes(), file
    assert WORDS not in json.dumps(answer.result)
    assert WORDS not in answer.err


def test_weights_fields_and_rows_arrive_as_they_were_asked_for_and_codes_are_told_by_request(
    tmp_path: Path,
) -> None:
    (tmp_path / "users.csv").write_text('id,name\n1,"A ""b"""\n2,c d\n3,e\n')
    asked = {
        "data": {"file": "users.csv"},
        "headers": {"X-Request": "{{uuid}}"},
        "requests": [
            {"name": "show", "weight": 3, "path": "/users/{{data.id}}?name={{data.name}}"},
            {
                "name": "make",
                "weight": 1,
                "method": "PUT",
                "path": "/u/{{sequence}}",
                "body": '{"name": "{{data.name|json}}", "n": {{int:0..3}}}',
                "accept": [409],
            },
            {"name": "look", "weight": 1, "method": "HEAD", "path": "/h/{{hex:8}}"},
        ],
    }
    with record_requests({"PUT": 409}) as notes:
        words = ("--workload", workload(tmp_path, asked), "--duration", "1.5s")
        answer = measured(notes, tmp_path, *words)
    # Seeds are fixed, so only the number of requests differs between two tries.
    seen = Counter(one.method for one in notes.requests)
    total = sum(seen.values())
    chance = chisquare([seen["GET"], seen["PUT"], seen["HEAD"]], [total * share for share in (0.6, 0.2, 0.2)])
    assert chance.pvalue > 1e-6, seen
    rows = Counter(one.path for one in notes.requests if one.method == "GET")
    assert set(rows) == {"/users/1?name=A%20%22b%22", "/users/2?name=c%20d", "/users/3?name=e"}
    bodies = [json.loads(one.body) for one in notes.requests if one.method == "PUT"]
    assert {one["name"] for one in bodies} == {'A "b"', "c d", "e"}
    assert {one["n"] for one in bodies} == {0, 1, 2, 3}
    paths = Counter(one.path for one in notes.load_requests if one.method == "PUT")
    assert set(paths.values()) == {1}, "no two requests have the same number"
    assert all(re.fullmatch(r"[0-9a-f-]{36}", one.headers["X-Request"]) for one in notes.requests)
    kinds = answer.result["by_kind"]
    assert sum(one["counts"]["completed"] for one in kinds.values()) == answer.result["counts"]["completed"]
    assert {name: set(one["codes"]) for name, one in kinds.items()} == {
        "show": {"200"},
        "make": {"409"},
        "look": {"200"},
    }
    assert kinds["make"]["codes"]["409"] == {"count": kinds["make"]["counts"]["completed"], "outcome": "hit"}


@pytest.mark.nginx
@pytest.mark.nightly  # what arrives is shown above, and that nginx answers is a row of the matrix
def test_nginx_takes_posts_and_puts(tmp_path: Path) -> None:
    need("nginx")
    text = (PRESETS / "nginx.toml").read_text()
    more = "location /orders { return 201; } location /dav/ { dav_methods PUT; create_full_put_path on; }"
    target = tmp_path / "nginx.toml"
    target.write_text(text.replace("    root {dir};", f"    root {{dir}}; {more}"))
    requests = [
        {"method": "POST", "path": "/orders", "body": "{{string:10..4000}}", "accept": [201]},
        {"method": "PUT", "path": "/dav/{{int:1..20}}", "body": "{{uuid}}"},
        {"method": "HEAD", "path": "/index.html"},
    ]
    words = ("--rate", "300", "--workload", workload(tmp_path, {"requests": requests}))
    answer = measure(str(target), tmp_path / "study", *FEW, *words)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    codes = {kind: set(one["codes"]) for kind, one in answer.result["by_kind"].items()}
    assert codes["post:/orders"] == {"201"}, codes
    assert codes["put:/dav/{{int:1..20}}"] <= {"201", "204"}, codes
    assert codes["head:/index.html"] == {"200"}
    assert answer.result["counts"]["errors"] == 0
