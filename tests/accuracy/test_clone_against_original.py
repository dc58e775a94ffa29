"""``hindmost compare --clone`` distinguishes a slower clone from its original, but not the original from itself.

With ``--logged``, it also corrects the ratio for what a request cost when it was logged."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from clones import FEW, synth_target, write_clone
from measuring import finish, need_two_cpus, start

from hindmost.commands.compare.clone.ratios import LEAST_PAIRS
from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

SHORT = (*FEW, "--pairs", str(LEAST_PAIRS + 1))


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_two_cpus()
    path: Path = write_clone(tmp_path_factory.mktemp("verify"))
    return path


def verify(study: Path, model: Path, original: Path, *options: object) -> dict[str, Any]:
    """Run one verification and return its document, whatever its verdict."""
    answer = finish(
        start("compare", original, "--clone", model, *options, *SHORT, "--json", "--out", study), study, 180.0
    )
    assert answer.out, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    return document


def check_pairs(point: Mapping[str, Any]) -> Finding | None:
    """A disturbed finding if interference excluded too many pairs, else None."""
    if point["pairs"] >= LEAST_PAIRS:
        return None
    return Finding(False, f"{point['left_out']} pairs left out: {point['why']['text']}", disturbed=True)


def test_a_clone_twice_as_slow_differs_and_the_original_does_not_differ_from_itself(
    truth: Path, claim: Claim
) -> None:
    tries = itertools.count()

    def attempt() -> Finding:
        slow = write_clone(truth.parent, 2.0)
        document = verify(truth.parent / f"study-{next(tries)}", slow, synth_target(truth))
        (point,) = document["points"]
        if disturbed := check_pairs(point):
            return disturbed
        mean = point["figures"]["mean"]
        ratio, floor = mean["clone"]["ratio"], mean["floor"]
        held = document["verdict"] == "different" and 1.6 < ratio < 2.4 and floor["outcome"] != "different"
        figure = (
            f"{document['verdict']}: mean {ratio:.3f} times, original against itself {floor['ratio']:.3f}"
        )
        return Finding(held, figure)

    claim.settle(
        "a clone twice as slow differs from its original, which does not differ from itself",
        attempt,
        limits.MAX_INTERFERENCE_LOOSE,
    )


@pytest.mark.nightly
def test_the_ratio_is_corrected_for_what_a_request_cost_when_it_was_logged(truth: Path, claim: Claim) -> None:
    """The original takes 1.5 times as long as the logged server, as on a host that has become slower."""
    tries = itertools.count()

    def attempt() -> Finding:
        place = truth.parent / f"logged-{next(tries)}"
        place.mkdir()
        options: list[object] = []
        for rate in (500, 2_000):
            target, study = f"{synth_target(truth)}&log={place}/log-{rate}.csv", place / f"at-{rate}"
            load = ("--rate", rate, "--runs", 1, "--duration", "1s", "--warmup", "0.1s", "--seed", 5)
            answer = finish(start("measure", target, *load, "--quiet", "--out", study), study)
            assert (study / "result.json").exists(), answer.err
            options += ["--logged", study]
        slower = synth_target(write_clone(truth.parent, 1.5))
        (point,) = verify(place / "study", truth, slower, *options)["points"]
        if disturbed := check_pairs(point):
            return disturbed
        cost = point["cost"]["ratio"]
        ratios = {
            name: tuple(point["figures"][name][side]["ratio"] for side in ("clone", "as_logged"))
            for name in ("mean", "p95")
        }
        held = 1.3 < cost < 1.7 and all(raw < 0.85 and 0.8 < fair < 1.25 for raw, fair in ratios.values())
        figure = ", ".join(f"{name} {raw:.2f}, as logged {fair:.2f}" for name, (raw, fair) in ratios.items())
        return Finding(held, f"cost {cost:.2f} times; {figure}")

    claim.settle(
        "the cost of a request when it was logged corrects for a slower host",
        attempt,
        limits.MAX_INTERFERENCE_LOOSE,
    )
