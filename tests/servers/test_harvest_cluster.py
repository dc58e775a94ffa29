"""The example cluster: HDFS-H, YARN-H and Tez-H next to a search service, compared with stock Hadoop."""

import json
import math
import subprocess

import pytest
from hadoop_daemons import ROOT, run_setup
from measuring import need_two_cpus

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


def test_stock_and_harvest_run_the_same_work(tmp_path, exclusive):
    exclusive("hadoop")
    need_two_cpus()
    run_setup("build")
    out = tmp_path / "cluster"
    example = ROOT.parent / "examples/harvest/cluster.sh"
    subprocess.run([example, "--rounds", "1", "--duration", "5s", "--out", out], check=True, timeout=850)
    stock, harvest = sorted(
        json.loads((out / "rounds.json").read_text()), key=lambda one: one["arm"] == "harvest"
    )
    assert (stock["arm"], harvest["arm"]) == ("stock", "harvest")
    for one in (stock, harvest):
        assert one["units"] > 0
        assert one["dag_s"] > 0
    assert 0 < harvest["p50_us"] < harvest["p99_us"] < math.inf, "the tenant answers next to batch work"
    assert stock["killed"] == 0
    assert harvest["lost"] == 0  # of 40 blocks stock loses about a third
    assert stock["lost"] > 0
