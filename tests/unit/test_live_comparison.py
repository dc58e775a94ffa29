"""Live comparisons on a simulated host that disturbs every run: which rounds count, looks, and resuming."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from impostor import impostor, memcached
from stealing_host import Host, StealingFleet, StealingTeam, make_watched_run
from tiny_study import HOST

from hindmost import MeasurePlan, MeasureRequest, Study
from hindmost.commands.compare import arms
from hindmost.commands.compare.documents.targets import Comparison
from hindmost.commands.compare.targets import TargetsRequest, answer, kind, open_new, reopen, request
from hindmost.core.results.call import restored_affinity
from hindmost.core.run.making import make_run
from hindmost.core.study.talk import Silent
from hindmost.stats.runs.looks import error_of_look

LOOKS = (6, 12)
SECOND_SEED = 100_000
"""Runs of the second server have seeds above this."""


class TwoServers(StealingFleet):
    """A fleet whose second server takes `factor` times as long."""

    factor = 1.0

    @contextmanager
    def start(self, jobs: Any, folder: Path) -> Iterator[StealingTeam]:
        second = json.loads(jobs[0].plan)["seed"] >= SECOND_SEED
        fleet = replace(self, service_us=self.service_us * self.factor) if second else self
        with StealingFleet.start(fleet, jobs, folder) as team:
            yield team


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that compares two simulated servers."""
    monkeypatch.setattr("hindmost.core.run.serving.local_owner", lambda _: None)
    monkeypatch.setattr(arms, "make_run", make_watched_run)
    with impostor(memcached(lambda connection, _: connection.sendall(b"END\r\n"))) as address:

        def compare(host: Host, factor: float = 1.0, **plan: Any) -> tuple[Study, Comparison]:
            plans = [plan_of(address, seed=seed, **plan) for seed in (1, SECOND_SEED)]
            asked = TargetsRequest(plans, looks=LOOKS)
            fleet = TwoServers(host)
            fleet.factor = factor
            monkeypatch.setattr(kind, "fleet_of", lambda *_: nullcontext(fleet))
            manifest = {"kind": "comparison", "plan": plans[0].model_dump(mode="json"), "host": HOST}
            manifest |= {"created": "2026-01-02T03:04:05Z", "version": "0.2.0"}
            study = Study.create(tmp_path / "study", manifest | {"comparison": asked.manifest()})
            return study, carry_on(study)

        yield compare


def plan_of(address: str, **given: Any) -> MeasurePlan:
    asked = {"rate_per_s": 3_000.0, "runs": (LOOKS[0], LOOKS[-1]), "duration_s": 2.0, "warmup": 0.25}
    asked |= {"calibration_s": 0.25, "quantiles": (0.5,), "client_cpus": ((1,),), "pacing": "spin"}
    kept = {"kind": "key-value", "clean_up": False}
    return MeasurePlan(target=f"memcached://{address}", workload=kept, stamp_every=0, **(asked | given))


def carry_on(study: Study) -> Comparison:
    with study.lock():
        return kind.run(study, Silent())


def count_runs(study: Study) -> int:
    return len(list(study.folder.glob("*/runs/*/run.json")))


STEALS = Host(disturbed=1.0, share=0.05, watched=True)


def test_all_rounds_count_though_every_run_is_disturbed_and_a_slower_server_is_found_at_the_first_look(live):
    study, found = live(STEALS, factor=1.2)
    (second,) = found.against
    assert found.left_out == []
    assert (second.decided_on, second.pairs, second.isolated["p50"].word) == ("isolated", LOOKS[0], "slower")
    assert found.verdict == "different"
    assert found.look_error == error_of_look(0)
    assert count_runs(study) == 2 * LOOKS[0]
    (reason,) = [one for one in found.reasons if one.code == "excluded-rounds"]
    assert (reason.level, reason.values["why"]) == ("note", "steal-time")
    carry_on(study)
    assert count_runs(study) == 2 * LOOKS[0], "a decided comparison stays decided"


def test_a_comparison_that_is_not_decided_looks_again_and_can_be_extended(live):
    study, found = live(STEALS, factor=1.02)
    assert found.against[0].isolated["p50"].word == "undecided"
    assert (found.against[0].pairs, found.look_error) == (LOOKS[-1], error_of_look(1))
    assert answer(study, LOOKS[0]).against[0].pairs == LOOKS[0]
    assert answer(study, LOOKS[0]).look_error == error_of_look(0)
    asked = TargetsRequest.read(study).extend(14, made=LOOKS[-1])
    assert (asked.looks, asked.seen, asked.error_at(14)) == ((14,), 2, error_of_look(2))
    assert asked.extend(14, made=14) == asked, "the same number again is no further look"


def test_raw_latency_needs_undisturbed_rounds(live):
    study, found = live(STEALS, factor=1.2, decide_on="raw")
    assert found.against[0].decided_on == "latency"
    assert len(found.left_out) == count_runs(study) // 2
    (reason,) = [one for one in found.reasons if one.code == "excluded-rounds"]
    assert reason.level == "inconclusive"


def test_without_isolated_latency_disturbed_rounds_do_not_count_and_a_reason_says_why(live, monkeypatch):
    monkeypatch.setattr(arms, "make_run", make_run)  # nothing is known about the server's CPUs
    study, found = live(Host(disturbed=0.4, share=0.05, watched=True))
    (second,) = found.against
    assert (second.decided_on, second.isolated) == ("latency", {})
    assert second.pairs == count_runs(study) // 2 - len(found.left_out) > 0
    assert {one.code for one in found.left_out} == {"steal-time"}
    refused = [one for one in found.reasons if one.code == "unknown-server-cpus"]
    assert [(one.level, one.values["side"]) for one in refused] == [
        ("note", one.label) for one in found.sides
    ]


def test_a_request_of_an_older_version_has_one_look_with_the_whole_error():
    old = TargetsRequest([MeasurePlan(target="synth", runs=(10, 10))])
    assert old.error_at(10) == 0.05
    later = old.extend(20, made=10)
    assert (later.looks, later.seen, later.plans[0].runs) == ((20,), 1, (20, 20))


def test_runs_are_short_unless_their_length_is_given(monkeypatch, tmp_path):
    monkeypatch.setattr(request, "prepare_target", lambda _: None)
    monkeypatch.setattr(request, "begin", lambda plan, _out, _kind, **more: (plan, more["comparison"]))

    def open_with(pairs: int | None = None, **options: Any) -> tuple[MeasurePlan, dict[str, Any]]:
        made: Any = open_new(["synth", "synth"], MeasureRequest(target=None, **options), pairs)
        return made

    plan, stored = open_with(rate="10k")
    assert (plan.duration_s, plan.warmup, plan.runs) == (1.5, 0.375, (8, 32))
    assert (stored["looks"], stored["seen"]) == ([8, 16, 32], 0)
    assert open_with(rate="2k")[0].duration_s == 5.0
    assert open_with(rate="100")[0].duration_s == 10.0
    given, _ = open_with(duration="10s", quantiles="50")
    assert (given.duration_s, given.warmup, given.runs) == (10.0, "auto", (6, 24))
    assert open_with(rate="10k", warmup="auto")[0].warmup == "auto"
    fixed, stored = open_with(pairs=10)
    assert (fixed.runs, stored["looks"]) == ((10, 10), [10])


def test_adding_rounds_keeps_the_runs_and_spends_less_error(live, monkeypatch):
    study, _ = live(STEALS, factor=1.02)
    monkeypatch.setattr(request, "prepare_target", lambda _: None)
    monkeypatch.setattr("hindmost.core.study.begin.prepare_target", lambda _: None)
    made = count_runs(study)
    with restored_affinity():
        found = carry_on(reopen(study.folder, 14, ()))
    assert count_runs(study) == made + 4
    assert (found.looks, found.look_error, found.against[0].pairs) == ([14], error_of_look(2), 14)
