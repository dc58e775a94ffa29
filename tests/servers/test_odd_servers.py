"""No behaviour of a server ends a run, except its death; what it costs is counted, and its first words are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import odd_servers
import pytest
from measuring import need, parse_managed
from odd_servers import Serve, odd_server

from hindmost import _engine
from hindmost.targets import ManagedServer

Result = Mapping[str, Any]
GETS = {"kind": "key-value", "keys": 10, "get_ratio": 1.0}


def loaded(address: str, protocol: str, workload: Mapping[str, Any], place: Path, **more: Any) -> Result:
    """Load a server for half a second, with 100 requests/s on two connections; the instance's result."""
    place.mkdir(parents=True)
    plan = {
        "schema": "hindmost.plan/1",
        "seed": 1,
        "target": {"protocol": protocol, "address": address},
        "load": {"loop": "open", "rate_per_s": 100.0},
        "connections": 2,
        "pacing": "sleep",
        "stamp_every": 0,
        "phases": {"warmup": {"fixed": {"seconds": 0.1}}, "calibration_s": 0.1, "measure_s": 0.5},
        "timeout_s": 0.5,
        "preload": False,
        "workload": workload,
    } | more
    return json.loads(_engine.run_client(json.dumps(plan), str(place)))


def all_loaded(
    servers: Mapping[str, Serve], protocol: str, workload: Mapping[str, Any], folder: Path
) -> dict[str, Result]:
    """Load all of these servers at once."""

    def one(numbered: tuple[int, tuple[str, Serve]]) -> tuple[str, Result]:
        number, (behaviour, serve) = numbered
        # Idle connections are what some behave oddly on.
        with odd_server(serve) as address:
            rate = 20.0 if "idle" in behaviour else 100.0
            load = {"loop": "open", "rate_per_s": rate}
            found = loaded(
                address, protocol, workload, folder / f"{protocol}{number}", load=load, timeout_s=0.3
            )
        return behaviour, found

    with ThreadPoolExecutor(max_workers=16) as pool:
        return dict(pool.map(one, enumerate(servers.items())))


def assert_went_on(found: Mapping[str, Result]) -> None:
    """Each run has an account that closes, in which requests were answered."""
    for behaviour, result in found.items():
        counts = result["counts"]
        ends = ("completed", "errors", "timeouts", "unsent")
        assert counts["scheduled"] == sum(counts[one] for one in ends), (behaviour, counts)
        assert counts["completed"] > 0, (behaviour, counts)


def assert_shown(found: Mapping[str, Result], *, all_but: tuple[str, ...] = ()) -> None:
    """What no request could be answered with is counted, and its start is kept."""
    assert_went_on(found)
    for behaviour, result in found.items():
        if behaviour not in all_but:
            unreadable = result["unreadable"]
            assert unreadable["count"] > 0, behaviour
            assert unreadable["first"], behaviour
            assert result["first_error"], behaviour


def assert_costs_nothing(found: Mapping[str, Result]) -> None:
    """Each request was answered."""
    assert_went_on(found)
    for behaviour, result in found.items():
        assert (result["counts"]["errors"], result["unreadable"]["count"]) == (0, 0), behaviour


def test_odd_http_costs_the_requests_that_it_answers(tmp_path: Path) -> None:
    found = all_loaded(odd_servers.HTTP, "http", {"kind": "http"}, tmp_path)
    assert_shown(found, all_but=("another protocol",))
    assert found["another protocol"]["codes"]["101"]["outcome"] == "error"
    assert "408" in found["408 on idle connections"]["unreadable"]["first"]
    assert "503" in found["503 at accept"]["first_error"]
    assert found["no HTTP"]["codes"].keys() == {"200"}


def test_http_that_has_one_meaning_is_taken_for_it(tmp_path: Path) -> None:
    found = all_loaded(odd_servers.FORGIVEN, "http", {"kind": "http"}, tmp_path)
    assert_costs_nothing(found)
    assert all(result["codes"].keys() == {"200"} for result in found.values())


def test_odd_redis_memcached_and_postgresql_cost_a_connection(tmp_path: Path) -> None:
    commands = {"kind": "commands", "commands": [{"command": "GET hindmost"}]}
    found = all_loaded(odd_servers.REDIS, "redis", commands, tmp_path)
    assert_shown(found, all_but=("closes after each reply",))
    assert "idle timeout" in found["idle timeout"]["first_error"]
    assert "max number of clients" in found["max number of clients"]["unreadable"]["first"]
    memcached = all_loaded(odd_servers.MEMCACHED, "memcached", GETS, tmp_path)
    assert_shown(memcached)
    assert "Too many open" in memcached["too many open connections"]["unreadable"]["first"]
    sql = {"kind": "sql", "statements": [{"sql": "SELECT 1"}]}
    found = all_loaded(odd_servers.POSTGRESQL, "postgresql", sql, tmp_path)
    assert_shown(found, all_but=("shut down",))
    assert "57P05" in found["idle session timeout"]["unreadable"]["first"]
    assert "57P01" in found["shut down"]["first_error"]


def test_what_postgresql_says_at_any_time_costs_nothing(tmp_path: Path) -> None:
    sql = {"kind": "sql", "statements": [{"sql": "SELECT 1"}]}
    assert_costs_nothing(all_loaded(odd_servers.ANY_TIME, "postgresql", sql, tmp_path))


def test_what_redis_pushes_costs_nothing(tmp_path: Path) -> None:
    commands = {"kind": "commands", "commands": [{"command": "GET hindmost"}]}
    assert_costs_nothing(all_loaded(odd_servers.PUSHED, "redis", commands, tmp_path))


def test_odd_http2_and_websockets_cost_a_connection(tmp_path: Path) -> None:
    assert_shown(all_loaded(odd_servers.HTTP2, "http2", {"kind": "http"}, tmp_path))
    found = all_loaded(odd_servers.HTTP2_ORDERLY, "http2", {"kind": "http"}, tmp_path / "orderly")
    assert_went_on(found)
    assert all(one["unreadable"]["count"] == one["counts"]["lost"] == 0 for one in found.values())
    messages = {"kind": "messages", "requests": [{"send": "hello"}]}
    assert_shown(all_loaded(odd_servers.WEBSOCKET, "ws", messages, tmp_path))
    assert_costs_nothing(all_loaded(odd_servers.WEBSOCKET_ORDERLY, "ws", messages, tmp_path / "orderly"))


def test_odd_grpc_costs_the_calls_that_it_answers(tmp_path: Path) -> None:
    call = {"method": "POST", "path": "/a.B/C", "body": {"hex": "0000000000"}}
    calls = {"kind": "http", "requests": [call]}
    servers = {behaviour: serve for behaviour, (_, serve) in odd_servers.GRPC.items()}
    found = all_loaded(servers, "grpc", calls, tmp_path)
    assert_went_on(found)
    for behaviour, (status, _) in odd_servers.GRPC.items():
        one = found[behaviour]
        codes = {name: code["outcome"] for name, code in one["codes"].items()}
        assert codes == {"OK": "hit"} | ({status: "error"} if status else {}), behaviour
        assert (one["unreadable"]["count"], one["counts"]["timeouts"]) == (0, 0), behaviour
        assert (one["counts"]["errors"] > 0) == (status is not None), behaviour
    broken = all_loaded(odd_servers.GRPC_BROKEN, "grpc", calls, tmp_path / "broken")
    assert_shown(broken)
    assert all(set(one["codes"]) == {"OK"} for one in broken.values())


def test_odd_binary_memcached_costs_a_connection(tmp_path: Path) -> None:
    found = all_loaded(odd_servers.MEMCACHED_BINARY, "memcached-binary", GETS, tmp_path)
    assert_shown(found)
    # Every good reply is a miss. Of the odd ones, those whose first bytes are a whole reply count before the rest comes.
    for behaviour, one in found.items():
        hits = one["counts"]["completed"] - one["counts"]["misses"]
        assert (hits > 0) <= behaviour.startswith("a body that is"), behaviour
    server = {"an error": odd_servers.MEMCACHED_BINARY_ERROR}
    error = all_loaded(server, "memcached-binary", GETS, tmp_path / "error")["an error"]
    assert_went_on({"an error": error})
    assert error["unreadable"]["count"] == 0
    assert error["counts"]["errors"] > 0
    assert error["counts"]["misses"] == error["counts"]["completed"]
    assert "Out of memory" in error["first_error"]


def test_datagrams_that_are_no_replies_are_dropped(tmp_path: Path) -> None:
    def reply(asked: bytes, number: int) -> bytes:
        return b"no reply" * 4 if number % 10 == 5 else asked[:2] + b"\x81\x80" + asked[4:]

    dns = {"kind": "dns"}
    with odd_servers.odd_datagrams(reply) as address:
        found = loaded(address, "dns", dns, tmp_path / "dns")
    assert_shown({"dns": found})
    assert found["counts"]["errors"] == 0
    assert found["counts"]["timeouts"] > 0


@pytest.mark.postgresql
def test_a_failed_transaction_fails_alone(tmp_path: Path) -> None:
    sql = {"kind": "sql", "statements": [{"sql": "BEGIN; SELECT 1/{{int:0..9}}; COMMIT"}]}
    need("postgresql")
    with ManagedServer(parse_managed("postgresql")) as server:
        target = {"protocol": "postgresql", "address": server.address}
        target["login"] = {"user": "hindmost", "database": "postgres"}
        found = loaded(server.address, "postgresql", sql, tmp_path / "pg", target=target)
    counts = found["counts"]
    assert 0 < counts["errors"] < counts["scheduled"] / 3, counts
    assert found["first_error"].startswith("ERROR 22012: ")
