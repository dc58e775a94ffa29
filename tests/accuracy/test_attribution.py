"""Two planted switches, one that slows the server and one that speeds it up: sign and size are found and confirmed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from factorials import BODY, HOLD, attribute, effect, read, study_file
from measuring import need_two_cpus

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

HOST = ("steal-time", "run-delay", "throttled")
"""Codes of runs that are excluded because of host counters."""
LEAST_RUNS = 3
"""Runs of each cell if none is excluded: three blocks of four cells."""
CONFIRM = 'quantile = "p50"\nruns = 6'


def run_study(folder: Path, confirm: str) -> tuple[dict[str, Any], bool, str]:
    """Run one study of both switches; returns its document, whether the effects are right, and the figures.

    At 500/s the queue is short, so half of the requests take 300, 105, 500 and 305 us, plus a constant path. body makes
    the p50 sqrt(500/300 * 305/105) = 2.2 times as long, hold sqrt(105/300 * 305/500) = 0.46 times.
    """
    need_two_cpus()
    folder.mkdir()
    document = read(attribute(study_file(folder, BODY, HOLD, confirm=confirm), folder / "study"))
    terms = {effect["term"] for effect in document["loads"][0]["quantiles"]["p50"]["average"]}
    if not {"body", "hold"} <= terms:
        return document, False, f"of both switches only {sorted(terms)} made a difference"
    body, hold = effect(document, "body"), effect(document, "hold")
    right = (
        (body["verdict"], hold["verdict"]) == ("raises", "lowers")
        and 0.7 < body["share"] < 1.5
        and -0.65 < hold["share"] < -0.35
    )
    figure = f"body {body['verdict']} {body['share']:+.0%}, hold {hold['verdict']} {hold['share']:+.0%}"
    return document, right, figure


def has_too_few_runs(document: dict[str, Any]) -> bool:
    """Whether host counters excluded so many runs that a cell has fewer than three left."""
    short = [cell["failure"] for cell in document["loads"][0]["cells"] if cell["runs"] < LEAST_RUNS]
    return any(failure is None or failure["code"] in HOST for failure in short)


def find_effects(folder: Path) -> Finding:
    """Twelve runs without confirmation."""
    document, right, figure = run_study(folder, "skip = true")
    return Finding(right, figure, has_too_few_runs(document))


def confirm_setting(folder: Path) -> Finding:
    """Twelve runs, then ten fresh runs of the best setting and the present one."""
    document, right, figure = run_study(folder, CONFIRM)
    if not document["confirmations"]:
        return Finding(False, f"{figure}; nothing was confirmed", has_too_few_runs(document))
    (fresh,) = document["confirmations"]
    figure += f"; {fresh['outcome']}: {fresh['after']['levels']}, p50 {fresh['ratio']['p50']}"
    held = (
        right
        and fresh["after"]["levels"] == {"body": "100", "hold": "5"}
        and fresh["outcome"] == "confirmed"
        and fresh["ratio"]["p50"]["high"] < 0.7
        and "hold = 5" in document["summary"][1]
    )
    return Finding(held, figure)


def test_planted_switches_are_found_with_their_signs_and_sizes(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "two planted switches are found with their signs and sizes",
        lambda: find_effects(tmp_path / str(next(tries))),
        limits.MAX_INTERFERENCE_LOOSE,
    )


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_the_best_setting_of_planted_switches_is_confirmed(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "two planted switches are found, and the best setting of them is confirmed",
        lambda: confirm_setting(tmp_path / str(next(tries))),
        limits.MAX_INTERFERENCE_LOOSE,
    )
