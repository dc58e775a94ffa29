"""Requests of HTTP: what was asked for is what arrives, at a server that notes it, at nginx and at apache."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from measuring import Answer, assert_counts_close, measure, need
from noting import Noting, noting
from scipy.stats import chisquare

from hindmost.targets import presets

PRESETS = Path(presets.__file__).parent
FEW = ("--clients", "1", "--connections", "4", "--timeout", "1s", "--runs", "1")
WORDS = "s3cret-words-of-the-test"


def measured(notes: Noting, folder: Path, *more: object, path: str = "/", rate: str = "300") -> Answer:
    url = f"http://127.0.0.1:{notes.port}{path}"
    answer = measure(url, folder / "study", *FEW, "--rate", rate, *more)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
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
    with noting() as notes:
        answer = measured(
            notes,
            tmp_path,
            *("--method", "POST", "--body", f"@{order}"),
            *("--header", f"Authorization: Bearer {WORDS}", "--header", "X-Tenant: a"),
            path="/orders?dry=1",
        )
    for one in notes.arrived:
        assert (one.method, one.path, one.body) == ("POST", "/orders?dry=1", order.read_bytes())
        assert one.headers["Authorization"] == f"Bearer {WORDS}"
        assert (one.headers["X-Tenant"], one.headers["Content-Type"]) == ("a", "application/json")
        assert one.headers["Host"] == f"127.0.0.1:{notes.port}"
    looks = [one for one in notes.arrived if one.connection == 0]
    assert len(looks) == 1, "a request that must not be made twice is made once to look at the server"
    assert list(answer.result["by_kind"]) == ["post"]
    assert set(answer.result["by_kind"]["post"]["codes"]) == {"200"}
    for file in answer.study.folder.rglob("*"):
        assert not file.is_file() or WORDS.encode() not in file.read_bytes(), file
    assert WORDS not in json.dumps(answer.result)
    assert WORDS not in answer.err


def test_weights_fields_and_rows_arrive_as_they_were_asked_for(tmp_path: Path) -> None:
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
            },
            {"name": "look", "weight": 1, "method": "HEAD", "path": "/h/{{hex:8}}"},
        ],
    }
    file = workload(tmp_path, asked)
    with noting() as notes:
        answer = measured(notes, tmp_path, "--workload", file, "--duration", "3s")
    seen = Counter(one.method for one in notes.arrived)
    total = sum(seen.values())
    chance = chisquare([seen["GET"], seen["PUT"], seen["HEAD"]], [total * share for share in (0.6, 0.2, 0.2)])
    assert chance.pvalue > 1e-4, seen
    rows = Counter(one.path for one in notes.arrived if one.method == "GET")
    assert set(rows) == {"/users/1?name=A%20%22b%22", "/users/2?name=c%20d", "/users/3?name=e"}
    assert chisquare(list(rows.values())).pvalue > 1e-4, rows
    bodies = [json.loads(one.body) for one in notes.arrived if one.method == "PUT"]
    assert {one["name"] for one in bodies} == {'A "b"', "c d", "e"}
    assert chisquare([Counter(one["n"] for one in bodies)[n] for n in range(4)]).pvalue > 1e-4
    paths = Counter(one.path for one in notes.loaded if one.method == "PUT")
    assert set(paths.values()) == {1}, "no two requests have the same number"
    assert all(re.fullmatch(r"[0-9a-f-]{36}", one.headers["X-Request"]) for one in notes.arrived)
    kinds = answer.result["by_kind"]
    assert set(kinds) == {"show", "make", "look"}
    assert sum(one["counts"]["done"] for one in kinds.values()) == answer.result["counts"]["done"]


def test_status_codes_are_told_by_request_and_each_accepts_its_own(tmp_path: Path) -> None:
    requests = [{"name": "get"}, {"name": "put", "method": "PUT", "accept": [409]}]
    file = workload(tmp_path, {"requests": requests})
    with noting({"PUT": 409}) as notes:
        answer = measured(notes, tmp_path, "--workload", file)
    kinds = answer.result["by_kind"]
    assert set(kinds["get"]["codes"]) == {"200"}
    assert kinds["put"]["codes"] == {"409": {"count": kinds["put"]["counts"]["done"], "outcome": "hit"}}


@pytest.mark.parametrize(("asked", "carried", "version"), [(5, 5, "HTTP/1.1"), (None, 1, "HTTP/1.0")])
def test_a_connection_carries_as_many_requests_as_asked(
    asked: int | None, carried: int, version: str, tmp_path: Path
) -> None:
    document = {"paths": ["/"], "version": version.removeprefix("HTTP/")}
    file = workload(tmp_path, document)
    carried_each = ("--requests-per-connection", str(asked)) if asked else ()
    with noting() as notes:
        answer = measured(notes, tmp_path, "--workload", file, *carried_each, rate="200")
    each = Counter(one.connection for one in notes.loaded)
    assert max(each.values()) == carried
    usual = sum(1 for count in each.values() if count == carried)
    assert usual >= len(each) - 10, each
    assert {one.version for one in notes.loaded} == {version}
    found = answer.result["connections"]
    assert (found["by_turns"], found["closed"]) == (False, 0), "it is our doing"
    assert answer.result["connect_us"] is not None


def test_a_large_body_arrives_whole(tmp_path: Path) -> None:
    body = tmp_path / "large"
    body.write_bytes(bytes(range(256)) * 8192)
    with noting() as notes:
        measured(notes, tmp_path, "--method", "PUT", "--body", f"@{body}", rate="20")
    assert len(notes.arrived) > 5
    assert all(one.body == body.read_bytes() for one in notes.arrived)


@pytest.mark.nginx
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
    answer = measure(
        str(target),
        tmp_path / "study",
        *FEW,
        "--rate",
        "300",
        "--workload",
        workload(tmp_path, {"requests": requests}),
    )
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    codes = {kind: set(one["codes"]) for kind, one in answer.result["by_kind"].items()}
    assert codes["post:/orders"] == {"201"}, codes
    assert codes["put:/dav/{{int:1..20}}"] <= {"201", "204"}, codes
    assert codes["head:/index.html"] == {"200"}
    assert answer.result["counts"]["errors"] == 0


@pytest.mark.apache
def test_apache_stores_what_is_put(tmp_path: Path) -> None:
    need("apache")
    text = (PRESETS / "apache.toml").read_text()
    more = (
        "LoadModule dav_module {modules}/mod_dav.so\nLoadModule dav_fs_module {modules}/mod_dav_fs.so\n"
        "DavLockDB {dir}/lock\n<Directory {dir}>\nDav On\n</Directory>\nKeepAlive On"
    )
    target = tmp_path / "apache.toml"
    target.write_text(text.replace("KeepAlive On", more))
    file = workload(tmp_path, {"requests": [{"method": "PUT", "path": "/f{{int:1..9}}", "body": "{{uuid}}"}]})
    answer = measure(str(target), tmp_path / "study", *FEW, "--rate", "300", "--workload", file)
    assert answer.code in (0, 4, 6), answer.err
    assert set(answer.result["codes"]) <= {"201", "204"}, answer.result["codes"]
    assert answer.result["counts"]["done"] > 0


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"requests": [{"weight": 0}]}, r"line \d+: .*weights add up to 0"),
        ({"requests": [{"body": {"file": "absent.json"}}]}, "absent.json.*No such file"),
        ({"requests": [{"path": "/{{itn:1..5}}"}]}, "did you mean int"),
        ({"headers": {"X-A": "a\r\nb"}}, "X-A.*single line"),
        ({"requests": [{"pth": "/"}]}, "unknown key pth.*did you mean path"),
        ({"data": {"file": "short.csv"}}, r"short.csv.*line 3 has 1 columns"),
    ],
)
def test_what_is_wrong_with_requests_is_told_by_file_line_and_key(
    document: dict, told: str, tmp_path: Path
) -> None:
    (tmp_path / "short.csv").write_text("a,b\n1,2\n3\n")
    file = tmp_path / "workload.json"
    file.write_text(json.dumps({"kind": "http", **document}, indent=1))
    answer = measure("http://127.0.0.1:9", tmp_path / "study", "--workload", file)
    assert answer.code == 2, answer.err
    assert re.search(rf"workload file .*workload\.json, {told}" if "line" in told[:6] else told, answer.err)
    assert re.search(r"workload\.json, line \d+", answer.err), answer.err
