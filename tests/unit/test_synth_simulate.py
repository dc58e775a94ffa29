"""``hindmost clone simulate``: theoretical figures, JSON and refusals."""

import json
import signal
import subprocess
import sys

import jsonschema
import numpy as np
import pytest
from messages import assert_refused, raises
from rows import each_row

from hindmost import _engine
from hindmost.cli import main
from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.simulation import Design, run_points, simulate
from hindmost.core.store.schema import schemas
from hindmost.errors import UsageError


def queue(law=None, **fields):
    law = law or {"kind": "exponential", "mean_us": 100}
    return Clone.from_document(
        {"schema": "hindmost.clone/1", "name": "queue", "service": [{"law": law}], **fields}
    )


def output_of(capsys, *arguments):
    code = main(["clone", "simulate", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_figures_agree_with_theory():
    result = simulate(queue(), utilisation=0.7, design=Design(requests=500_000))
    assert result.rate_per_s == pytest.approx(7_000)
    assert result.load == pytest.approx(0.7)
    assert result.busy_share == pytest.approx(0.7, rel=0.01)
    for name, expected in [("mean", 333.3), ("p50", 231.0), ("p99", 1535.0)]:
        one = result.latency_us[name]
        assert one.low < one.value < one.high
        assert one.value == pytest.approx(expected, rel=0.03)


def test_every_application_is_predicted(capsys):
    for name in ("silo", "shore"):
        code, out, _ = output_of(capsys, name, "--requests", "20000")
        assert code == 0
        assert "70" in out.splitlines()[0]
        assert {line.split()[0] for line in out.splitlines() if line} >= {
            "mean",
            "p50",
            "p99.9",
            "capacity",
            "lock",
        }


def test_the_machine_replica_follows_its_schema(capsys):
    code, out, _ = output_of(
        capsys, "xapian", "--rate", "500", "--requests", "5000", "--threads", "3", "--json"
    )
    assert code == 0
    document = json.loads(out)
    jsonschema.Draft202012Validator(schemas()["simulation"]).validate(document)
    assert (document["threads"], document["rate_per_s"], document["requests"]) == (3, 500.0, 5000)


def test_kinds_are_distinguished():
    law = {"kind": "deterministic", "us": 10}
    slow = {"kind": "deterministic", "us": 100}
    clone = Clone.from_document(
        {
            "schema": "hindmost.clone/1",
            "name": "two",
            "kinds": [
                {"name": "get", "share": 0.9, "service": [{"law": law}]},
                {"name": "scan", "share": 0.1, "service": [{"law": slow}]},
            ],
        }
    )
    result = simulate(clone, utilisation=0.1, design=Design(requests=20_000))
    get, scan = result.kinds
    assert (get.name, scan.name) == ("get", "scan")
    assert get.requests + scan.requests == 20_000
    assert get.latency_us["p50"] == pytest.approx(10.0, rel=1e-3)
    assert scan.latency_us["p50"] == pytest.approx(100.0, rel=1e-3)


def test_more_points_on_more_cores_change_nothing():
    points = [
        {"load": {"utilisation": share}, "set": {"/threads": k}} for share in (0.3, 0.8) for k in (1, 2, 5)
    ]
    together = run_points(queue(), points, Design(requests=5_000))
    alone = [run_points(queue(), [point], Design(requests=5_000))[0] for point in points]
    assert together == alone


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        (["silo", "--rate", "1M"], "above-capacity", {"rate_per_s": 1e6, "threads": 1}),
        (["silo", "--utilisation", "120%"], "bad-value", {"value": "120%"}),
        (
            ["silo", "--rate", "5k", "--utilisation", "50%"],
            "conflicting-options",
            {"options": ["--rate", "--utilisation"]},
        ),
        (["silo", "--requests", "0"], "bad-value", {"option": "--requests", "value": 0}),
        (["silo", "--seed", "-1"], "bad-value", {"option": "--seed", "value": -1}),
        (["silo", "--threads", "0"], "bad-value", {"key": "threads", "value": 0}),
        (["silo", "--quantiles", "100"], "bad-value", {"value": "100"}),
        (["silo", "--arrivals", "gauss"], "unknown-name", {"option": "--arrivals", "name": "gauss"}),
        (["slio"], "no-such-file", {"path": "slio", "nearest": "silo"}),
    ],
)
def test_invalid_options_are_refused_with_name_and_value(capsys, arguments, code, fields):
    assert_refused(["clone", "simulate", *arguments], capsys, 2, code, **fields)


def test_a_backlog_is_simulated_on_request(capsys):
    code, out, _ = output_of(capsys, "silo", "--rate", "1M", "--requests", "2000", "--backlog", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["load"] > 1
    assert document["throughput_per_s"] == pytest.approx(document["capacity_per_s"], rel=0.1)


@each_row(
    ("design", "key"),
    [
        (Design(requests=0), "requests"),
        (Design(quantiles=(1.0,)), "quantiles"),
        (Design(arrivals=[0.0, 1.0]), "times_us"),
        (Design(requests=2, warmup=0, arrivals=[5.0, 1.0]), "times_us[1]"),
        (Design(clients=0), "clients"),
    ],
)
def test_an_invalid_design_is_refused(design, key):
    point = (
        {}
        if design.clients is not None or not isinstance(design.arrivals, str)
        else {"load": {"rate_per_s": 1}}
    )
    with raises(UsageError, "bad-value", key=key) as caught:
        run_points(queue(), [point], design)
    assert caught.value.hint


def test_permanently_paused_threads_serve_nothing():
    always = {
        "name": "gc",
        "scope": "server",
        "length": {"kind": "deterministic", "us": 20},
        "when": {"kind": "periodic", "every_us": 10},
    }
    with raises(UsageError, "always-stopped"):
        simulate(queue(disturbances=[always]), design=Design(clients=1, requests=10))
    with raises(UsageError, "above-capacity", capacity_per_s=0.0) as caught:
        simulate(queue(disturbances=[always]), rate_per_s=10.0)
    assert caught.value.hint


def test_rows_are_single_requests():
    columns = _engine.simulate_columns(
        queue({"kind": "deterministic", "us": 10}).text,
        Design(requests=3, warmup=0, arrivals=[0.0, 4.0, 50.0]).text([{}]),
    )
    rows = {name: np.frombuffer(data, np.uint32 if name == "kind" else np.float64) for name, data in columns}
    assert rows["start_ns"].tolist() == [0, 10_000, 50_000]
    assert rows["finish_ns"].tolist() == [10_000, 20_000, 60_000]


def test_a_signal_ends_a_long_simulation_at_once():
    script = """
import sys
from hindmost import _engine
from hindmost.cli import main
simulate = _engine.simulate
def begun(*words):
    print("begun", file=sys.stderr, flush=True)
    return simulate(*words)
_engine.simulate = begun
sys.exit(main())
"""
    arguments = ["clone", "simulate", "silo", "--requests", "10000000000", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script, *arguments], text=True, **pipes) as process:
        try:
            assert "begun\n" in iter(process.stderr.readline, "")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert json.loads(out)["code"] == "interrupted"


def test_a_design_does_not_change_load_clone_documents():
    clone = load_clone("silo")
    before = clone.text
    run_points(clone, [{"set": {"/threads": 2}, "load": {"utilisation": 0.5}}], Design(requests=100))
    assert clone.text == before
