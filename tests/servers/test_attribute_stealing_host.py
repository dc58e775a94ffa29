"""A whole study of factors on a simulated host with steal time: real procedures, known answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from factorials import factor, load

from hindmost import Study
from hindmost.commands.attribute.answer import answer
from hindmost.commands.attribute.course import Course
from hindmost.commands.attribute.document import Attribution
from hindmost.commands.attribute.resolve import resolve
from hindmost.commands.attribute.runner import Runner
from hindmost.core.fleet import Job
from hindmost.core.run.companions.server import ServerCounters
from tests.shared.queueing import mm1_sojourn
from tests.shared.stealing_host import Host, StealingFleet, StealingTeam

STUDY = "".join(
    [
        'name = "a host that steals"\ntarget = "memcached"\nquantiles = "50,95"\n',
        '[measure]\nduration = "1s"\nwarmup = "250ms"\nsamples = 0\nstamps = "off"\n',
        load("usual", "3k"),
        factor("slow", 2, 1, option="threads"),
        factor("nothing", 64, 128, option="memory_mib"),
        '[design]\nblocks = "5"\n[confirm]\nskip = true\n',
    ]
)
SERVICE_US = (150.0, 100.0)
"""Service time at each level of the factor slow; its first level is the slower one."""


@pytest.fixture(autouse=True)
def ignore_real_steal(monkeypatch):
    """Ignore the real host's steal time, which is not part of the simulation."""
    read = ServerCounters._read
    monkeypatch.setattr(ServerCounters, "_read", lambda self: replace(read(self), stolen=0))


class CellFleet(StealingFleet):
    """A fleet whose service time depends on the cell of the run, which it takes from the run's folder."""

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[StealingTeam]:
        cell = next((part for part in folder.parts if re.fullmatch(r"\d-\d", part)), "0-0")
        self.service_us = SERVICE_US[int(cell[0])]
        with super().start(jobs, folder) as team:
            yield team


def run_study(folder: Path, host: Host) -> Attribution:
    folder.mkdir()
    file = folder / "study.toml"
    file.write_text(STUDY)
    plan, _ = resolve(file, None, budget=None, without=None)
    manifest = {
        "plan": plan.measure.model_dump(mode="json"),
        "attribution": plan.file.model_dump(mode="json"),
        "host": {"facts": {}, "findings": []},
    }
    study = Study.create(folder / "study", manifest)
    with study.lock():
        runner = Runner(study, plan, fleet=CellFleet(host))
        Course(runner, lambda _: None).blocks()
        return answer(runner)


@pytest.mark.nightly
@pytest.mark.memcached
def test_effects_are_found_on_a_host_that_steals_from_every_third_run(tmp_path):
    document = run_study(tmp_path / "s", Host(disturbed=0.35))
    (load,) = document.loads
    assert sum(cell.invalid for cell in load.cells) > 0, "no run was disturbed: the test shows nothing"
    for label, q in (("p50", 0.5), ("p95", 0.95)):
        effects = {effect.term: effect for effect in load.quantiles[label].average}
        slow, fast = (mm1_sojourn(3e3 * us / 1e6, us, q) for us in SERVICE_US)
        assert effects["slow"].verdict == "lowers"
        # Intervals of nominal .95: one of four times the width misses once in millions.
        low, high = (math.log1p(end) for end in (effects["slow"].share_low, effects["slow"].share_high))
        assert abs(math.log(fast / slow) - (low + high) / 2.0) < 2.0 * (high - low)
        assert effects["nothing"].verdict in ("negligible", "undecided")
    assert document.recommendation.levels == {"slow": "1", "nothing": "64"}
