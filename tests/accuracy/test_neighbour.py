"""Who took the client's processor is named first, with the share of it that it took."""

from __future__ import annotations

import itertools
from pathlib import Path

from measuring import measure, need_two_processors
from neighbours import disturber

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

CLOSE = 0.05
"""Of the client's time: what it waited, the other one had, but for the kernel's own threads."""


def attempt(place: Path) -> Finding:
    """Two that want one processor, for two seconds."""
    server, client = need_two_processors()
    place.mkdir()
    words = (
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
    with disturber(client, place) as pid:
        answer = measure("synth", place / "study", *words)
    assert answer.code in (0, 4, 6), answer.err
    first = answer.result["instrument"]["neighbours"][0]
    figures = {one["id"]: one["value"] for one in answer.result["instrument"]["figures"]}
    hints = {one["code"]: one["hint"] for one in answer.result["reasons"]}
    figure = f"{first['name']} took {first['share']:.1%}, the client waited {figures['waiting']:.1%}"
    named = first["pid"] == pid and f"-p {pid}`" in hints.get("run-delay", "")
    return Finding(named and abs(first["share"] - figures["waiting"]) < CLOSE, figure)


def test_the_program_that_had_the_clients_processor_is_named_with_its_share(
    claim: Claim, tmp_path: Path
) -> None:
    tries = itertools.count()
    claim.settle(
        "who had the client's processor is named first, and had what the client missed",
        lambda: attempt(tmp_path / str(next(tries))),
        limits.BEARS_MORE,
    )
