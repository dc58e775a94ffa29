"""Workload files and the measure plan: what reaches the engine, and what is refused earlier."""

import json

import pytest
from messages import raises
from pydantic import ValidationError
from rows import each_row

from hindmost.core.plan import MeasurePlan, load_workload
from hindmost.errors import UsageError


def engine_plans(plan: MeasurePlan, run: int = 1, protocol: str = "memcached") -> list[dict]:
    return [json.loads(plan.engine_plan(run, i, protocol, "127.0.0.1:1")) for i in range(plan.clients)]


def test_a_workload_without_kind_is_key_value(tmp_path):
    file = tmp_path / "w.json"
    file.write_text('{"get_ratio": 0.5}')
    assert load_workload(file) == {"kind": "key-value", "get_ratio": 0.5}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b"3", b" " * (16 << 20) + b"{}"],
    ids=["empty", "cut", "bytes", "list", "number", "huge"],
)
def test_invalid_workload_files_are_refused_by_path(tmp_path, content):
    file = tmp_path / "w.json"
    file.write_bytes(content)
    with raises(UsageError, "bad-file", path=str(file)):
        load_workload(file)


def test_an_absent_or_unreadable_workload_file_is_refused(tmp_path):
    with raises(UsageError, "no-such-file", path=str(tmp_path / "none.json")):
        load_workload(tmp_path / "none.json")
    with raises(UsageError, "unreadable-file", path=str(tmp_path)):
        load_workload(tmp_path)


@each_row(
    ("workload", "code", "fields"),
    [
        ({"kind": "key-value", "get_ratio": 1.5}, "bad-value", {"key": "get_ratio", "value": "1.5"}),
        ({"kind": "key-value", "keys": 0}, "bad-value", {"key": "keys", "value": "0"}),
        ({"kind": "key-value", "colour": "red"}, "unknown-key", {"key": "colour"}),
        ({"kind": "sql"}, "bad-value", {"key": "kind", "value": "sql"}),
        ({"kind": "key-value", "value_bytes": {"uniform": [9, 3]}}, "bad-value", {"key": "value_bytes"}),
        ({"kind": "key-value", "get_ratio": float("nan")}, "bad-value", {}),
    ],
)
def test_the_engine_names_the_invalid_field_of_a_workload(workload, code, fields):
    with raises(UsageError, code, **fields):
        engine_plans(MeasurePlan(target="memcached", workload=workload))


@each_row(
    ("connections", "clients", "each"),
    [(16, 1, [16]), (16, 3, [6, 5, 5]), (2, 4, [1, 1, 1, 1]), (7, 7, [1] * 7)],
)
def test_connections_are_divided_among_clients(connections, clients, each):
    plan = MeasurePlan(target="memcached", connections=connections, clients=clients)
    assert [client["connections"] for client in engine_plans(plan)] == each


def test_every_client_preloads_keys_but_not_over_http():
    plan = MeasurePlan(target="memcached", clients=3)
    assert [client["preload"] for client in engine_plans(plan)] == [True, True, True]
    http = MeasurePlan(target="nginx", workload={"kind": "http", "paths": ["/"]})
    assert [client["preload"] for client in engine_plans(http, protocol="http")] == [False]


def test_clients_of_a_run_share_a_seed_and_runs_do_not():
    plan = MeasurePlan(target="memcached", clients=2, seed=5)
    assert [client["seed"] for client in engine_plans(plan, run=1)] == [5, 5]
    assert [client["seed"] for client in engine_plans(plan, run=3)] == [7, 7]
    assert [client["client"] for client in engine_plans(plan)] == [
        {"index": 0, "of": 2},
        {"index": 1, "of": 2},
    ]


def test_the_same_plan_gives_the_same_bytes():
    plan = MeasurePlan(target="memcached")
    assert plan.engine_plan(2, 0, "memcached", "h:1") == plan.engine_plan(2, 0, "memcached", "h:1")


@each_row(
    ("fields", "path", "value"),
    [
        ({"warmup": "auto"}, ("phases", "warmup"), {"auto": {"min_s": 2.0, "max_s": 15.0}}),
        ({"warmup": 3.0}, ("phases", "warmup"), {"fixed": {"seconds": 3.0}}),
        ({"duration_s": 0.3}, ("phases", "measure_s"), 0.3),
        ({"loop": "closed", "rate_per_s": None}, ("load", "loop"), "closed"),
        ({"loop": "closed", "rate_per_s": None}, ("load", "rate_per_s"), None),
        ({"arrivals": "deterministic"}, ("load", "arrivals"), "deterministic"),
        ({"threads": 2, "client_cpus": ((3, 5),)}, ("threads",), [{"cpu": 3}, {"cpu": 5}]),
        ({"threads": 3, "client_cpus": ((3, 5),)}, ("threads",), [{"cpu": 3}, {"cpu": 5}, {"cpu": 3}]),
        ({"threads": 1}, ("threads",), [{"cpu": None}]),
        ({"samples": 5, "clients": 1}, ("keep", "samples"), 5),
        ({"samples": 10_000_000, "rate_per_s": 100.0, "duration_s": 5.0}, ("keep", "samples"), 2_000),
        ({"pacing": "sleep"}, ("pacing",), "sleep"),
    ],
)
def test_fields_of_the_plan_reach_the_engine(fields, path, value):
    plan_part = engine_plans(MeasurePlan(target="memcached", **fields))[0]
    for key in path:
        plan_part = plan_part[key]
    assert plan_part == value


def test_a_plan_is_restored_from_its_manifest():
    plan = MeasurePlan(target="memcached", clients=2, client_cpus=((1,), (2,)), warmup=1.0, runs=(2, 5))
    assert MeasurePlan.model_validate(json.loads(json.dumps(plan.model_dump(mode="json")))) == plan


def test_a_plan_is_frozen_and_refuses_unknown_fields():
    plan = MeasurePlan(target="memcached")
    with pytest.raises(ValidationError):
        plan.rate_per_s = 3.0
    with pytest.raises(ValidationError) as caught:
        MeasurePlan(target="memcached", colour="red")
    assert [error["loc"] for error in caught.value.errors()] == [("colour",)]
    assert plan.labels == ("p50", "p95", "p99", "p99.9")
