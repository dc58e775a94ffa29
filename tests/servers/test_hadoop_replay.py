"""A day of primary tenants in compressed time on real data nodes: who can be read, and who lies where."""

import json

import pytest
from hadoop_daemons import run_setup
from hadoop_replay import write_replay

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def one_at_a_time(exclusive):
    exclusive("hadoop")


SECONDS = 60
"""Of a day: 1,440 times as fast."""


def test_up_to_forty_percent_of_mean_load_no_read_fails_under_h_and_some_do_under_stock(tmp_path):
    tenants, traces = write_replay(tmp_path, 24, [0.3, 0.4])
    arms = [f"h/deny/{traces[0.3]}", f"h/deny/{traces[0.4]}", f"stock/deny/{traces[0.4]}"]
    out = run_setup("replay", str(tenants), str(SECONDS), *arms)
    print(out)
    seen = {one["arm"]: one for one in map(json.loads, (line for line in out.splitlines() if line[0] == "{"))}
    ours = [seen["h-deny-30"], seen["h-deny-40"]]
    stock = seen["stock-deny-40"]
    for one in ours:
        assert one["failed"] == 0
        # Those written before, meanwhile, and made again after a reimage.
        assert one["apart_when_written"] == 150
        assert one["apart_in_the_end"] == one["files"]
    for one in (*ours, stock):
        assert one["reads"] > 500
        assert one["lost_replicas"] > 0
        assert sum(row["reads"] for row in one["by_busy"]) == one["reads"]
    # The same day and as many readers, who are not told which replica is busy.
    assert stock["busy"] == seen["h-deny-40"]["busy"] > 0.05
    assert stock["by_busy"][3]["reads"] > 0
    assert stock["failed"] > 0
    assert stock["denied"] > 10 * seen["h-deny-40"]["denied"]
