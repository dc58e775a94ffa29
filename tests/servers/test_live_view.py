"""The live view: what the clients do in each second, read from memory that they share."""

from __future__ import annotations

import os
import re
from pathlib import Path

from measuring import assert_counts_add_up, measure, need_two_cpus

LINE = re.compile(
    r"run 1, +\d+ s: sent +([\d,]+)/s, completed +([\d,]+)/s, failed (\d+), p50 ([\d.]+) .s, p99 ([\d.]+) .s"
)


def test_every_second_of_a_run_is_shown_with_its_rate_and_latency(tmp_path: Path) -> None:
    need_two_cpus()
    load = (
        "--rate",
        "2k",
        "--clients",
        "1",
        "--threads",
        "2",
        "--client-cpus",
        str(max(os.sched_getaffinity(0))),
    )
    course = ("--runs", "1", "--duration", "3s", "--warmup", "0.3s", "--live", "--pacing", "sleep")
    answer = measure("synth", tmp_path / "study", *load, *course)
    assert_counts_add_up(answer.result)
    lines = LINE.findall(answer.err)
    assert len(lines) >= 2, answer.err
    for sent, completed, failed, *_ in lines:
        assert int(sent.replace(",", "")) > 0 < int(completed.replace(",", ""))
        assert int(failed) <= answer.result["counts"]["scheduled"]
    assert answer.result["plan"]["live"] is True
