"""HTTP requests arrive as configured, at a server that records them and at nginx."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from http_recorder import RequestLog, record_requests
from measuring import Answer, assert_counts_add_up, measure, need
from scipy.stats import chisquare

from hindmost.core.targets import presets

PRESETS = Path(presets.__file__).parent
FEW = ("--clients", "1", "--connections", "4", "--timeout", "1s", "--runs", "1")
SECRET = "s3cret-words-of-the-test"


def measure_log(log: RequestLog, folder: Path, *options: object, path: str = "/") -> Answer:
    url = f"http://127.0.0.1:{log.port}{path}"
    answer = measure(url, folder / "study", *FEW, "--rate", "300", *options)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    assert answer.result["counts"]["errors"] == 0, answer.result["codes"]
    return answer


def workload(folder: Path, document: dict) -> Path:
    file = folder / "workload.json"
    file.write_text(json.dumps({"kind": "http", **document}))
    return file


def test_one_request_by_options_arrives_as_configured_and_its_secret_is_nowhere_on_disk(
    tmp_path: Path,
) -> None:
    order = tmp_path / "order.json"
    order.write_bytes(b'{"id": 1, "text": "{{no field}}"}')
    with record_requests() as log:
        answer = measure_log(
            log,
            tmp_path,
            *("--method", "POST", "--body", f"@{order}", "--requests-per-connection", "5"),
            *("--header", f"Authorization: Bearer {SECRET}", "--header", "X-Tenant: a"),
            path="/orders?dry=1",
        )
    for request in log.requests:
        assert (request.method, request.path, request.body) == ("POST", "/orders?dry=1", order.read_bytes())
        assert request.headers["Authorization"] == f"Bearer {SECRET}"
        assert (request.headers["X-Tenant"], request.headers["Content-Type"]) == ("a", "application/json")
        assert request.headers["Host"] == f"127.0.0.1:{log.port}"
    probes = [request for request in log.requests if request.connection == 0]
    assert len(probes) == 1, "a request that is not idempotent is sent only once as a probe"
    assert max(Counter(request.connection for request in log.load_requests).values()) == 5
    connections = answer.result["connections"]
    assert (connections["by_turns"], connections["closed"]) == (False, 0), "the client closes, not the server"
    assert list(answer.result["by_kind"]) == ["post"]
    assert set(answer.result["by_kind"]["post"]["codes"]) == {"200"}
    for file in answer.study.folder.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in json.dumps(answer.result)
    assert SECRET not in answer.err


def test_weights_fields_and_rows_arrive_as_configured_and_codes_are_counted_by_request(
    tmp_path: Path,
) -> None:
    (tmp_path / "users.csv").write_text('id,name\n1,"A ""b"""\n2,c d\n3,e\n')
    mix = {
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
    with record_requests({"PUT": 409}) as log:
        answer = measure_log(log, tmp_path, "--workload", workload(tmp_path, mix), "--duration", "1.5s")
    # Seeds are fixed, so only the number of requests differs between two attempts.
    methods = Counter(request.method for request in log.requests)
    total = sum(methods.values())
    expected = [total * share for share in (0.6, 0.2, 0.2)]
    chance = chisquare([methods["GET"], methods["PUT"], methods["HEAD"]], expected)
    assert chance.pvalue > 1e-6, methods
    rows = Counter(request.path for request in log.requests if request.method == "GET")
    assert set(rows) == {"/users/1?name=A%20%22b%22", "/users/2?name=c%20d", "/users/3?name=e"}
    bodies = [json.loads(request.body) for request in log.requests if request.method == "PUT"]
    assert {body["name"] for body in bodies} == {'A "b"', "c d", "e"}
    assert {body["n"] for body in bodies} == {0, 1, 2, 3}
    paths = Counter(request.path for request in log.load_requests if request.method == "PUT")
    assert set(paths.values()) == {1}, "no two requests have the same number"
    assert all(re.fullmatch(r"[0-9a-f-]{36}", request.headers["X-Request"]) for request in log.requests)
    kinds = answer.result["by_kind"]
    assert sum(kind["counts"]["completed"] for kind in kinds.values()) == answer.result["counts"]["completed"]
    assert {name: set(kind["codes"]) for name, kind in kinds.items()} == {
        "show": {"200"},
        "make": {"409"},
        "look": {"200"},
    }
    assert kinds["make"]["codes"]["409"] == {"count": kinds["make"]["counts"]["completed"], "outcome": "hit"}


def test_a_reply_that_fails_a_check_is_an_error_counted_by_that_check(tmp_path: Path) -> None:
    requests = [
        {"name": "usual"},
        {"name": "large", "checks": ["body contains ok", "size<=1"]},
        {"name": "bare", "checks": []},
    ]
    checks = ("--check", "header content-length: 2", "--check", "body contains no such text")
    with record_requests() as log:
        url = f"http://127.0.0.1:{log.port}/"
        mix = ("--workload", workload(tmp_path, {"requests": requests}))
        answer = measure(url, tmp_path / "study", *FEW, "--rate", "300", *mix, *checks)
    assert_counts_add_up(answer.result)
    kinds = answer.result["by_kind"]
    failed = {"usual": "check failed: body contains no such text", "large": "check failed: size<=1"}
    for name, code in failed.items():
        counts = kinds[name]["counts"]
        assert (counts["completed"], counts["errors"]) == (0, counts["scheduled"]), name
        assert kinds[name]["codes"] == {code: {"count": counts["errors"], "outcome": "error"}}
    assert kinds["bare"]["counts"]["errors"] == 0
    (reason,) = [one for one in answer.result["reasons"] if one["code"] == "errors"]
    assert set(reason["values"]["codes"]) == set(failed.values())


def test_redirections_are_followed_on_the_same_server_only(tmp_path: Path) -> None:
    requests = [{"name": "here", "path": "/old"}, {"name": "away", "path": "/away"}]
    with record_requests(locations={"/old": "/new?a=1", "/away": "http://127.0.0.2/"}) as log:
        mix = ("--workload", workload(tmp_path, {"requests": requests}))
        answer = measure(
            f"http://127.0.0.1:{log.port}/", tmp_path / "study", *FEW, "--rate", "300", *mix, "--follow", "2"
        )
    assert_counts_add_up(answer.result)
    here, away = (answer.result["by_kind"][name] for name in ("here", "away"))
    assert set(here["codes"]) == {"200"}
    assert set(away["codes"]) == {"redirect to another host"}
    assert away["codes"]["redirect to another host"]["count"] == away["counts"]["errors"] > 0
    asked = Counter(request.path for request in log.load_requests)
    assert asked["/new?a=1"] == asked["/old"] > 0


@pytest.mark.nginx
@pytest.mark.nightly  # requests are tested above, and nginx's replies in the matrix
def test_nginx_takes_posts_and_puts(tmp_path: Path) -> None:
    need("nginx")
    text = (PRESETS / "nginx.toml").read_text()
    locations = (
        "location /orders { return 201; } location /dav/ { dav_methods PUT; create_full_put_path on; }"
    )
    target = tmp_path / "nginx.toml"
    target.write_text(text.replace("    root {dir};", f"    root {{dir}}; {locations}"))
    requests = [
        {"method": "POST", "path": "/orders", "body": "{{string:10..4000}}", "accept": [201]},
        {"method": "PUT", "path": "/dav/{{int:1..20}}", "body": "{{uuid}}"},
        {"method": "HEAD", "path": "/index.html"},
    ]
    load = ("--rate", "300", "--workload", workload(tmp_path, {"requests": requests}))
    answer = measure(str(target), tmp_path / "study", *FEW, *load)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    codes = {name: set(kind["codes"]) for name, kind in answer.result["by_kind"].items()}
    assert codes["post:/orders"] == {"201"}, codes
    assert codes["put:/dav/{{int:1..20}}"] <= {"201", "204"}, codes
    assert codes["head:/index.html"] == {"200"}
    assert answer.result["counts"]["errors"] == 0
