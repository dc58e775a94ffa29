"""Load machines that are network namespaces of this one: a study through Dask, SSH and TLS, on real links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from machines import machines
from measuring import assert_counts_close, measure

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.store import Study

LOAD = ("--rate", "2k", "--pacing", "sleep", "--sentinel", "off")
QUIET_WAKEUPS = 10
"""Of the channel's process in a measurement: its timers rest, so that there are next to none."""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2, {"b": 5_000_000}) as found:
        yield found


@pytest.fixture(scope="module")
def url(two):
    with two.memcached() as found:
        yield found


def runs(study: Path) -> list[dict[str, Any]]:
    return [run.record for run in Study.open(study).runs()]


@pytest.fixture(scope="module")
def made(two, url, tmp_path_factory):
    """A study of two runs by two machines."""
    out = tmp_path_factory.mktemp("fleet") / "study"
    answer = measure(url, out, "--fleet", two.hosts_file(), *LOAD)
    assert answer.code in (0, 4, 6), answer.err
    return answer


def test_two_machines_measure_a_server_on_a_third(made, two):
    result = made.result
    assert_counts_close(result)
    assert result["counts"]["errors"] == result["counts"]["timeouts"] == 0
    assert result["clients"]["instances"] == 2
    for run in result["runs"]:
        first, second = (one["counts"]["due"] for one in run["instances"])
        assert 0.8 < first / second < 1.25, "the plan is not thinned evenly"
    assert not two.left()


def test_nothing_is_said_in_the_channel_while_it_is_measured(made):
    for record in runs(made.study.folder):
        for host in record["fleet"]:
            channel = host["channel"]
            assert channel["bytes"] == 0
            assert channel["wakeups"] <= QUIET_WAKEUPS
            assert channel["seconds"] > 0.9  # calibration and measurement


def test_a_clock_that_is_5_ms_off_is_measured_before_and_after(made):
    for record in runs(made.study.folder):
        for host in record["fleet"]:
            true_ns = 5_000_000 if host["host"] == "b" else 0
            for when in ("before", "after"):
                clock = host["clock"][when]
                assert abs(clock["offset_ns"] - true_ns) <= clock["error_ns"]
                assert clock["error_ns"] < 5_000_000 / 2, "too coarse to see it"


def test_all_begin_at_one_moment_whatever_their_clocks_say(made):
    for run in Study.open(made.study.folder).runs():
        moments = []
        for host in run.record["fleet"]:
            for index in host["instances"]:
                told = json.loads((run.folder / f"instance-{index}.json").read_text())
                moments.append(told["measured_from_ns"] - host["clock"]["before"]["offset_ns"])
        assert max(moments) - min(moments) < 5_000_000 / 2
