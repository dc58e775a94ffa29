"""A day of primary tenants in compressed time on real data nodes: which reads fail, and where replicas are."""

import json

import pytest
from hadoop_daemons import run_setup
from hadoop_replay import write_replay

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def lock_hadoop(exclusive):
    exclusive("hadoop")


SECONDS = 60
"""Length of the replayed day: 1,440 times as fast."""


def test_up_to_40_percent_mean_load_no_read_fails_under_h_and_some_fail_under_stock(tmp_path):
    tenants, traces = write_replay(tmp_path, 24, [0.3, 0.4])
    arms = [f"h/deny/{traces[0.3]}", f"h/deny/{traces[0.4]}", f"stock/deny/{traces[0.4]}"]
    out = run_setup("replay", str(tenants), str(SECONDS), *arms)
    print(out)
    lines = (line for line in out.splitlines() if line[0] == "{")
    results = {result["arm"]: result for result in map(json.loads, lines)}
    ours = [results["h-deny-30"], results["h-deny-40"]]
    stock = results["stock-deny-40"]
    for result in ours:
        assert result["failed"] == 0
        # Files written before and during the day, and replicas made after a reimage.
        assert result["apart_when_written"] == 150
        assert result["apart_in_the_end"] == result["files"]
    for result in (*ours, stock):
        assert result["reads"] > 500
        assert result["lost_replicas"] > 0
        assert sum(row["reads"] for row in result["by_busy"]) == result["reads"]
    # The same day and as many readers, without the knowledge of which replica is busy.
    assert stock["busy"] == results["h-deny-40"]["busy"] > 0.05
    assert stock["by_busy"][3]["reads"] > 0
    assert stock["failed"] > 0
    assert stock["denied"] > 10 * results["h-deny-40"]["denied"]
