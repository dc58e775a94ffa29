"""No behaviour of a server ends a run, except its death. Its costs are counted, and its first bad bytes are kept."""

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
from hindmost.core.targets import ManagedServer

Result = Mapping[str, Any]
GETS = {"kind": "key-value", "keys": 10, "get_ratio": 1.0}


def load_server(
    address: str, protocol: str, workload: Mapping[str, Any], place: Path, **plan_fields: Any
) -> Result:
    """Load a server for half a second, with 100 requests/s on two connections; returns the client's result."""
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
    } | plan_fields
    return json.loads(_engine.run_client(json.dumps(plan), str(place)))


def load_servers(
    servers: Mapping[str, Serve], protocol: str, workload: Mapping[str, Any], folder: Path
) -> dict[str, Result]:
    """Load all of these servers at once."""

    def load_one(item: tuple[int, tuple[str, Serve]]) -> tuple[str, Result]:
        number, (behaviour, serve) = item
        # Some servers behave oddly only on idle connections.
        with odd_server(serve) as address:
            rate = 20.0 if "idle" in behaviour else 100.0
            load = {"loop": "open", "rate_per_s": rate}
            result = load_server(
                address, protocol, workload, folder / f"{protocol}{number}", load=load, timeout_s=0.3
            )
        return behaviour, result

    with ThreadPoolExecutor(max_workers=16) as pool:
        return dict(pool.map(load_one, enumerate(servers.items())))


def assert_completed(results: Mapping[str, Result]) -> None:
    """Assert that every request of each run is counted, and that some were answered."""
    for behaviour, result in results.items():
        counts = result["counts"]
        outcomes = ("completed", "errors", "timeouts", "unsent")
        assert counts["scheduled"] == sum(counts[outcome] for outcome in outcomes), (behaviour, counts)
        assert counts["completed"] > 0, (behaviour, counts)


def assert_unreadable(results: Mapping[str, Result], *, all_but: tuple[str, ...] = ()) -> None:
    """Assert that unreadable replies are counted, and that the beginning of the first is kept."""
    assert_completed(results)
    for behaviour, result in results.items():
        if behaviour not in all_but:
            unreadable = result["unreadable"]
            assert unreadable["count"] > 0, behaviour
            assert unreadable["first"], behaviour
            assert result["first_error"], behaviour


def assert_costs_nothing(results: Mapping[str, Result]) -> None:
    """Assert that each request was answered."""
    assert_completed(results)
    for behaviour, result in results.items():
        assert (result["counts"]["errors"], result["unreadable"]["count"]) == (0, 0), behaviour


def test_odd_http_costs_the_requests_that_it_answers(tmp_path: Path) -> None:
    results = load_servers(odd_servers.HTTP, "http", {"kind": "http"}, tmp_path)
    assert_unreadable(results, all_but=("another protocol",))
    assert results["another protocol"]["codes"]["101"]["outcome"] == "error"
    assert "408" in results["408 on idle connections"]["unreadable"]["first"]
    assert "503" in results["503 at accept"]["first_error"]
    assert results["no HTTP"]["codes"].keys() == {"200"}


def test_unambiguous_http_is_accepted(tmp_path: Path) -> None:
    results = load_servers(odd_servers.FORGIVEN, "http", {"kind": "http"}, tmp_path)
    assert_costs_nothing(results)
    assert all(result["codes"].keys() == {"200"} for result in results.values())


def test_odd_redis_memcached_and_postgresql_cost_a_connection(tmp_path: Path) -> None:
    commands = {"kind": "commands", "commands": [{"command": "GET hindmost"}]}
    results = load_servers(odd_servers.REDIS, "redis", commands, tmp_path)
    assert_unreadable(results, all_but=("closes after each reply",))
    assert "idle timeout" in results["idle timeout"]["first_error"]
    assert "max number of clients" in results["max number of clients"]["unreadable"]["first"]
    memcached = load_servers(odd_servers.MEMCACHED, "memcached", GETS, tmp_path)
    assert_unreadable(memcached)
    assert "Too many open" in memcached["too many open connections"]["unreadable"]["first"]
    sql = {"kind": "sql", "statements": [{"sql": "SELECT 1"}]}
    results = load_servers(odd_servers.POSTGRESQL, "postgresql", sql, tmp_path)
    assert_unreadable(results, all_but=("shut down",))
    assert "57P05" in results["idle session timeout"]["unreadable"]["first"]
    assert "57P01" in results["shut down"]["first_error"]


def test_messages_that_postgresql_may_send_at_any_time_cost_nothing(tmp_path: Path) -> None:
    sql = {"kind": "sql", "statements": [{"sql": "SELECT 1"}]}
    assert_costs_nothing(load_servers(odd_servers.ANY_TIME, "postgresql", sql, tmp_path))


def test_redis_push_messages_cost_nothing(tmp_path: Path) -> None:
    commands = {"kind": "commands", "commands": [{"command": "GET hindmost"}]}
    assert_costs_nothing(load_servers(odd_servers.PUSHED, "redis", commands, tmp_path))


def test_odd_http2_and_websockets_cost_a_connection(tmp_path: Path) -> None:
    assert_unreadable(load_servers(odd_servers.HTTP2, "http2", {"kind": "http"}, tmp_path))
    results = load_servers(odd_servers.HTTP2_ORDERLY, "http2", {"kind": "http"}, tmp_path / "orderly")
    assert_completed(results)
    assert all(result["unreadable"]["count"] == result["counts"]["lost"] == 0 for result in results.values())
    messages = {"kind": "messages", "requests": [{"send": "hello"}]}
    assert_unreadable(load_servers(odd_servers.WEBSOCKET, "ws", messages, tmp_path))
    assert_costs_nothing(load_servers(odd_servers.WEBSOCKET_ORDERLY, "ws", messages, tmp_path / "orderly"))


def test_odd_grpc_costs_the_calls_that_it_answers(tmp_path: Path) -> None:
    call = {"method": "POST", "path": "/a.B/C", "body": {"hex": "0000000000"}}
    calls = {"kind": "http", "requests": [call]}
    servers = {behaviour: serve for behaviour, (_, serve) in odd_servers.GRPC.items()}
    results = load_servers(servers, "grpc", calls, tmp_path)
    assert_completed(results)
    for behaviour, (status, _) in odd_servers.GRPC.items():
        result = results[behaviour]
        codes = {name: code["outcome"] for name, code in result["codes"].items()}
        assert codes == {"OK": "hit"} | ({status: "error"} if status else {}), behaviour
        assert (result["unreadable"]["count"], result["counts"]["timeouts"]) == (0, 0), behaviour
        assert (result["counts"]["errors"] > 0) == (status is not None), behaviour
    broken = load_servers(odd_servers.GRPC_BROKEN, "grpc", calls, tmp_path / "broken")
    assert_unreadable(broken)
    assert all(set(result["codes"]) == {"OK"} for result in broken.values())


def test_odd_binary_memcached_costs_a_connection(tmp_path: Path) -> None:
    results = load_servers(odd_servers.MEMCACHED_BINARY, "memcached-binary", GETS, tmp_path)
    assert_unreadable(results)
    # Every good reply is a miss. An odd reply whose first bytes are a whole reply counts before the rest arrives.
    for behaviour, result in results.items():
        hits = result["counts"]["completed"] - result["counts"]["misses"]
        assert (hits > 0) <= behaviour.startswith("a body that is"), behaviour
    server = {"an error": odd_servers.MEMCACHED_BINARY_ERROR}
    error = load_servers(server, "memcached-binary", GETS, tmp_path / "error")["an error"]
    assert_completed({"an error": error})
    assert error["unreadable"]["count"] == 0
    assert error["counts"]["errors"] > 0
    assert error["counts"]["misses"] == error["counts"]["completed"]
    assert "Out of memory" in error["first_error"]


def test_datagrams_that_are_not_replies_are_dropped(tmp_path: Path) -> None:
    def reply(request: bytes, number: int) -> bytes:
        return b"no reply" * 4 if number % 10 == 5 else request[:2] + b"\x81\x80" + request[4:]

    dns = {"kind": "dns"}
    with odd_servers.odd_datagrams(reply) as address:
        result = load_server(address, "dns", dns, tmp_path / "dns")
    assert_unreadable({"dns": result})
    assert result["counts"]["errors"] == 0
    assert result["counts"]["timeouts"] > 0


@pytest.mark.postgresql
def test_a_failed_transaction_fails_alone(tmp_path: Path) -> None:
    sql = {"kind": "sql", "statements": [{"sql": "BEGIN; SELECT 1/{{int:0..9}}; COMMIT"}]}
    need("postgresql")
    with ManagedServer(parse_managed("postgresql")) as server:
        target = {"protocol": "postgresql", "address": server.address}
        target["login"] = {"user": "hindmost", "database": "postgres"}
        result = load_server(server.address, "postgresql", sql, tmp_path / "pg", target=target)
    counts = result["counts"]
    assert 0 < counts["errors"] < counts["scheduled"] / 3, counts
    assert result["first_error"].startswith("ERROR 22012: ")
