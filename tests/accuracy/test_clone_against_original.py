"""``hindmost compare --clone``: a slower clone is told from its original, which is not told from itself; and what a request
cost when it was logged stands beside the ratio."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from clones import FEW, clone, served
from measuring import finish, need_two_processors, start

from hindmost.studies.comparison.clone.ratios import LEAST_PAIRS
from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

SHORT = (*FEW, "--pairs", str(LEAST_PAIRS + 1))


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_two_processors()
    path: Path = clone(tmp_path_factory.mktemp("verify"))
    return path


def verify(study: Path, model: Path, original: Path, *words: object) -> dict[str, Any]:
    """The document of one verification, whatever its verdict; pairs that the host spoiled were made again, or cost it."""
    answer = finish(
        start("compare", original, "--clone", model, *words, *SHORT, "--json", "--out", study), study, 180.0
    )
    assert answer.out, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    return document


def spoiled(point: Mapping[str, Any]) -> Finding | None:
    """The host's counters, or the spinning client, had too many pairs left out."""
    if point["pairs"] >= LEAST_PAIRS:
        return None
    return Finding(False, f"{point['left_out']} pairs left out: {point['why']['text']}", spoiled=True)


def test_a_clone_that_is_twice_as_slow_is_told_and_the_original_is_not_told_from_itself(
    truth: Path, claim: Claim
) -> None:
    tries = itertools.count()

    def attempt() -> Finding:
        slow = clone(truth.parent, 2.0)
        document = verify(truth.parent / f"study-{next(tries)}", slow, served(truth))
        (point,) = document["points"]
        if none := spoiled(point):
            return none
        mean = point["figures"]["mean"]
        ratio, floor = mean["clone"]["ratio"], mean["floor"]
        held = document["verdict"] == "different" and 1.6 < ratio < 2.4 and floor["outcome"] != "different"
        figure = f"{document['verdict']}: mean {ratio:.3f} times, of the original beside itself {floor['ratio']:.3f}"
        return Finding(held, figure)

    claim.settle(
        "a clone twice as slow is told from its original, which is not told from itself",
        attempt,
        limits.BEARS_MORE,
    )


@pytest.mark.nightly
def test_what_a_request_cost_when_it_was_logged_is_told_beside_the_ratio(truth: Path, claim: Claim) -> None:
    """The original of this verification takes 1.5 times as long as the one that was logged: a host that slowed down."""
    tries = itertools.count()

    def attempt() -> Finding:
        place = truth.parent / f"logged-{next(tries)}"
        place.mkdir()
        words: list[object] = []
        for rate in (500, 2_000):
            target, study = f"{served(truth)}&log={place}/log-{rate}.csv", place / f"at-{rate}"
            asked = (
                "--rate",
                rate,
                "--runs",
                1,
                "--duration",
                "1s",
                "--warmup",
                "0.1s",
                "--seed",
                5,
                "--quiet",
            )
            told = finish(start("measure", target, *asked, "--out", study), study)
            assert (study / "result.json").exists(), told.err
            words += ["--logged", study]
        slowed = served(clone(truth.parent, 1.5))
        (point,) = verify(place / "study", truth, slowed, *words)["points"]
        if none := spoiled(point):
            return none
        cost = point["cost"]["ratio"]
        ratios = {
            name: tuple(point["figures"][name][side]["ratio"] for side in ("clone", "as_logged"))
            for name in ("mean", "p95")
        }
        held = 1.3 < cost < 1.7 and all(raw < 0.85 and 0.8 < fair < 1.25 for raw, fair in ratios.values())
        figure = ", ".join(f"{name} {raw:.2f}, as logged {fair:.2f}" for name, (raw, fair) in ratios.items())
        return Finding(held, f"cost {cost:.2f} times; {figure}")

    claim.settle(
        "what a request cost when it was logged makes up for a slower host", attempt, limits.BEARS_MORE
    )
