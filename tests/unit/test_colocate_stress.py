"""Stressors run by hand, and arrivals in a cluster from a list of pods."""

import json
import os

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.cli import main
from hindmost.commands.colocate.stress import stress
from hindmost.errors import UsageError
from reproduce.smite.arrivals import _NEEDED as NEEDED
from reproduce.smite.arrivals import WORKERS, arrivals_from_pods, generate_arrivals
from reproduce.smite.steering import steer

HEAD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"


def pods(*rows: tuple[str, int, int, str]) -> str:
    """Return a list of pods from rows of QoS, CPU milli, begin and end."""
    lines = [f"p,{cpu},1024,0,0,,{qos},Running,{begin},{end},{begin}" for qos, cpu, begin, end in rows]
    return "\n".join([HEAD, *lines]) + "\n"


def test_stressors_run_and_report_their_work(capsys):
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    names = ["int_add", "null"][: len(cpus)]
    assert (
        main(["colocate", "stressors", "--run", *names, "--duty", "50%", "--duration", "60ms", "--json"]) == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert result["schema"] == "hindmost.stress/2"
    assert [row["stressor"] for row in result["stressors"]] == names
    for row in result["stressors"]:
        assert row["done"] > 0
        assert row["took_s"] >= 0.06
        assert 0 < row["duty"] <= 1
    assert main(["colocate", "stressors", "--run", "null", "--duration", "10ms"]) == 0
    assert "pauses/s" in capsys.readouterr().out
    assert main(["colocate", "stressors", "--list"]) == 0
    assert {"lfsr_l1", "tlb_code"} <= set(capsys.readouterr().out.split())


@each_row(
    ("names", "more", "code", "fields"),
    [
        (["coffee"], {}, "unknown-name", {"value": "coffee"}),
        (["null"], {"duty": 0.0}, "bad-value", {"option": "--duty", "value": 0.0}),
        (["null"], {"duty": 1.5}, "bad-value", {"option": "--duty", "value": 1.5}),
        (["null"], {"period_ns": 1000}, "bad-value", {"option": "--period", "value": 1000, "least": 5000}),
        (["null"], {"cpus": [4000]}, "bad-value", {"option": "--cpus", "value": 4000}),
        (["null"] * 5000, {}, "few-processors", {"need": 5000}),
    ],
)
def test_impossible_stressor_options_are_refused(names, more, code, fields):
    with raises(UsageError, code, **fields):
        stress(names, duration_s=0.01, **more)


def test_a_list_of_pods_gives_servers_and_offered_batch_work():
    # One server runs all the time; batch work has one size in the first half and twice that in the second.
    text = pods(("LS", 1000, 0, 1000), ("BE", 4000, 0, 1000), ("BE", 4000, 500, 1000), ("Burstable", 9, 0, 9))
    result = arrivals_from_pods(text, 1000, 3, 5, np.random.default_rng(1))
    assert set(result.kinds.tolist()) == {0}
    assert result.offers.shape == result.there.shape == (1000, WORKERS)
    assert result.there.mean() == pytest.approx(0.75, abs=0.03)
    assert result.origin.code == "listed-arrivals"
    counts = {name: result.origin.values[name] for name in ("serving", "batch", "pods")}
    assert counts == {"serving": 1, "batch": 2, "pods": 4}
    repeated = arrivals_from_pods(text, 1000, 3, 5, np.random.default_rng(1))
    assert (repeated.there == result.there).all()


def test_a_deleted_pod_is_no_longer_offered():
    text = pods(("LS", 1000, 0, 1000), ("BE", 4000, 0, 250))
    result = arrivals_from_pods(text, 400, 1, 1, np.random.default_rng(1))
    assert result.there.mean() == pytest.approx(0.25, abs=0.01)


def test_pods_that_were_never_deleted_stay():
    text = pods(("LS", 1000, 0, 1000), ("BE", 4000, 500, 600)).replace(",600,", ",,")
    result = arrivals_from_pods(text, 400, 1, 1, np.random.default_rng(1))
    assert result.there.mean() == pytest.approx(0.5, abs=0.05)


@each_row(
    ("text", "fields"),
    [
        ("", {"known": list(NEEDED)}),
        ("name,qos\na,LS\n", {"known": list(NEEDED)}),
        (pods(("LS", 1, 0, 1)), {"key": "qos", "need": "BE"}),
        (pods(("LS", 1, 0, 1), ("BE", 1, 0, 1)).replace(",0,1,0", ",x,1,0"), {"value": "x"}),
    ],
)
def test_an_invalid_list_of_pods_is_refused(text, fields):
    with raises(UsageError, "bad-file", **fields):
        arrivals_from_pods(text, 10, 2, 2, np.random.default_rng(1))


def test_no_job_is_admitted_if_none_is_offered():
    truth = np.full((2, 3), 0.01)
    rng = np.random.default_rng(1)
    arrivals = generate_arrivals(100, 2, 3, rng)
    arrivals.there[:50] = False
    outcomes = {
        outcome.policy: outcome
        for outcome in steer(truth, truth, np.array([0.5]), servers=100, arrivals=arrivals)
    }
    assert {outcomes[policy].gained for policy in ("random", "steered", "oracle")} == {0.5}
