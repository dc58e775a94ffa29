"""The process that took the most time from the client's CPU is named first, with the share that it took."""

from __future__ import annotations

import itertools
from pathlib import Path

from measuring import measure, need_two_cpus
from neighbours import run_disturber

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

CLOSE = 0.05
"""Tolerance, as a share of the client's time: kernel threads took the rest of the time that it waited."""


def attempt(place: Path) -> Finding:
    """Two processes compete for one CPU for two seconds."""
    server, client = need_two_cpus()
    place.mkdir()
    options = (
        "--rate",
        "2k",
        "--runs",
        1,
        "--duration",
        "2s",
        "--server-cpus",
        server,
        "--client-cpus",
        client,
    )
    with run_disturber(client, place) as pid:
        answer = measure("synth", place / "study", *options)
    assert answer.code in (0, 4, 6), answer.err
    first = answer.result["instrument"]["neighbours"][0]
    figures = {figure["id"]: figure["value"] for figure in answer.result["instrument"]["figures"]}
    hints = {reason["code"]: reason["hint"] for reason in answer.result["reasons"]}
    figure = f"{first['name']} took {first['share']:.1%}, the client waited {figures['waiting']:.1%}"
    is_named = first["pid"] == pid and f"-p {pid}`" in hints.get("run-delay", "")
    return Finding(is_named and abs(first["share"] - figures["waiting"]) < CLOSE, figure)


def test_the_process_that_used_the_clients_cpu_is_named_with_its_share(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "the process on the client's CPU is named first, with the time that the client waited",
        lambda: attempt(tmp_path / str(next(tries))),
        limits.MAX_INTERFERENCE_LOOSE,
    )
