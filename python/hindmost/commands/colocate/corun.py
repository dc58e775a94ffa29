"""A server under load next to real jobs: what profiles predict, and what is measured."""

from __future__ import annotations

import json
import random
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec.structs import asdict

from hindmost import _engine
from hindmost.commands.colocate.corunner import CoRunner
from hindmost.commands.colocate.documents.profiles import (
    CORUN_SCHEMA,
    AtLoad,
    CoRun,
    JobEffect,
    JobEffectAtProfileLoad,
)
from hindmost.commands.colocate.prediction.bound import judge_pair
from hindmost.commands.colocate.prediction.profiles import Array
from hindmost.commands.colocate.prediction.queues import Solo, has_enough_services
from hindmost.commands.colocate.prediction.scores import scores
from hindmost.commands.colocate.prediction.slowdown import predict_from_lighter, predict_growth
from hindmost.commands.colocate.processor import choose_spare, read_processor
from hindmost.commands.colocate.server import ServerUnderLoad
from hindmost.commands.colocate.shares import LEAST_ROUNDS, growth, shares_lost, summarize_load
from hindmost.commands.colocate.stressors import call_engine, choose_cpus, make_stressors
from hindmost.commands.colocate.windows import WindowResult, WindowRunner, placement_of
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import latency_from
from hindmost.errors import Inconclusive, UsageError

if TYPE_CHECKING:
    from hindmost.commands.colocate.documents.profiles import LoadedServer, Profile, Share

_RESERVED = ("alone", "null")
MOST_PROBED = 10_000
"""Highest rate of a probe, requests/s."""


def corun(
    server: Profile,
    jobs: Sequence[Profile],
    *,
    rates: Sequence[float] = (),
    within: float = 0.1,
    cpu: int | None = None,
    other: str | None = None,
    budget_s: float = 60.0,
    seed: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> CoRun:
    """Start the server of a profile, load it as for its profile, and run each job next to it.

    Parameters
    ----------
    server, jobs : Profile
        The server's with ``loaded``.
    rates : sequence of float
        Further loads in requests/s, each above the load of the profile.
    within : float
        Largest promised growth of its p99, as a share.
    cpu, other : optional
        CPU of the server, and of the jobs (`hindmost.commands.colocate.stressors.choose_cpus`).
    budget_s : float
        Time for each load, s: the last round starts before it is over. At least four rounds are made.
    seed : int
        Random seed for the order of windows.
    say : callable

    Raises
    ------
    UsageError
        The server's profile has no latency, two jobs have the same name, profiles come from other processors,
        or a rate is not above the profile's.
    TargetError
        The server or a job cannot be started, or ends.
    Inconclusive
        Too few windows are usable.
    """
    if not server.loaded:
        raise UsageError(
            "no-loaded-profile",
            f"the profile of {server.name} was made without load, so it has no latency",
            hint="hindmost colocate profile SERVER --probe 2k --probe-address URL --out FILE",
            name=server.name,
        )
    names = [one.name for one in jobs]
    for name in names:
        if name in _RESERVED or names.count(name) > 1:
            raise UsageError(
                "duplicate-name",
                f"two profiles are named {name!r}, or the name is reserved",
                hint="hindmost colocate profile --name NAME",
                name=name,
            )
    least = server.loaded.requested_per_s
    for rate in rates:
        if not least < rate <= MOST_PROBED:
            raise UsageError(
                "bad-value",
                f"--rates {rate:g}: rates must be above the profile's own rate of {least:g} requests/s, and"
                f" at most {MOST_PROBED:,} on one connection",
                hint="profile the server at a lower rate: hindmost colocate profile --probe",
                option="--rates",
                value=rate,
                least=least,
                most=MOST_PROBED,
            )
    answers = [judge_pair(one, server, within=within, load=server.loaded.busy) for one in jobs]
    here, kind = read_processor(), server.processor
    if here != kind:
        raise UsageError(
            "other-processor",
            f"the profiles were measured on {kind.name}, but this machine has {here.name}",
            hint="profile the server and the jobs on this machine",
            value=kind.name,
            need=here.name,
        )
    start = time.monotonic()
    there = _Setup(server, jobs, choose_cpus(cpu, other), random.Random(seed), seed, budget_s, say)
    loads = [there.measure_under(rate) for rate in (least, *rates)]
    windows = [one for load in loads for each in load.rounds for one in each]
    placement, notes = placement_of(windows)
    lightest = loads[0].summarize(within)
    return CoRun(
        schema=CORUN_SCHEMA,
        server=server.name,
        processor=here,
        placement=placement,
        within=within,
        loaded=lightest.loaded,
        axes=server.axes,
        jobs=[
            JobEffectAtProfileLoad(**asdict(one), command=job.command, answer=answer.answer, axes=job.axes)
            for one, job, answer in zip(lightest.jobs, jobs, answers, strict=True)
        ],
        scores=lightest.scores,
        loads=[one.summarize(within, loads[0]) for one in loads[1:]],
        window_ms=server.method.window_ms,
        windows=len(windows),
        dropped=sum(not one.is_usable for one in windows),
        took_s=time.monotonic() - start,
        notes=[one.document() for one in notes],
    )


@dataclass(frozen=True, slots=True)
class _Setup:
    """A server, its jobs, and their CPUs."""

    server: Profile
    jobs: Sequence[Profile]
    cpus: tuple[int, int]
    order: random.Random
    seed: int
    budget_s: float
    say: Callable[[str], None]

    def measure_under(self, rate: float) -> _LoadResult:
        """Start the programs, and make rounds of windows under one load."""
        server, cpus = self.server, self.cpus
        assert server.loaded
        address = server.loaded.address
        source = latency_from(Application(server.name, None), probe=str(rate), address=address)
        assert source is not None
        window_ms, rounds = server.method.window_ms, list[list[WindowResult]]()
        knees = json.dumps(call_engine(_engine.cache_knees, cpus[1], self.seed))
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            beside = make_stressors(["null"], knees, folder, self.seed)
            runners = {one.name: stack.enter_context(CoRunner(one.command, cpus[1])) for one in self.jobs}
            subject = stack.enter_context(
                ServerUnderLoad(server.command, cpus[0], source, choose_spare(cpus))
            )
            stand = WindowRunner(subject, cpus, {**beside, **runners}, real_time=False)
            started = time.monotonic()
            while True:
                program = shlex.join(server.command[:1])
                self.say(f"{rate:g} requests/s, round {len(rounds) + 1}: {program} next to each job")
                states = [*_RESERVED, *runners]
                self.order.shuffle(states)
                windows = []
                for one in states:
                    windows.append(stand.window(one, window_ms))
                    if one in runners:
                        runners[one].check()
                rounds.append(windows)
                spent = time.monotonic() - started
                if len(rounds) >= LEAST_ROUNDS and spent * (1 + 1 / len(rounds)) > self.budget_s:
                    break
            return _LoadResult(server, self.jobs, rate, rounds, summarize_load(rounds, subject, window_ms))


@dataclass(frozen=True, slots=True)
class _LoadResult:
    """The windows under one load."""

    server: Profile
    jobs: Sequence[Profile]
    rate: float
    rounds: list[list[WindowResult]]
    loaded: LoadedServer

    def services(self, beside: str) -> list[Array]:
        """Return the service times of each window, µs."""
        return [
            np.array(one.probe_result.service_us)
            for windows in self.rounds
            for one in windows
            if one.stressor == beside
            and one.is_usable
            and one.probe_result is not None
            and one.probe_result.service_us
        ]

    def summarize(self, within: float, lighter: _LoadResult | None = None) -> AtLoad:
        """Compare predictions from profiles, and from a lighter load, with the measurements."""
        alone = self.services("null")
        solo = Solo(np.concatenate(alone), self.rate) if has_enough_services(alone) else None
        ran = [self._summarize_job(job, within, solo, lighter) for job in self.jobs]
        if all(one.latency.p99 is None for one in ran):
            raise Inconclusive(
                "no-window-percentile",
                "too few windows next to any job had enough requests for a percentile",
                hint="use a longer --budget, or a quieter host",
            )
        return AtLoad(loaded=self.loaded, jobs=ran, scores=scores(ran))

    def _summarize_job(
        self, job: Profile, within: float, solo: Solo | None, lighter: _LoadResult | None
    ) -> JobEffect:
        name = job.name
        grown, guesses = growth(self.rounds, name, "null"), predict_growth(self.server, job, solo)
        if (
            lighter is not None
            and solo is not None
            and (measured := lighter.growth_next_to(name)) is not None
        ):
            guesses += predict_from_lighter(lighter.services("null"), lighter.services(name), measured, solo)
        return JobEffect(
            job=name,
            promise=verdict(grown.p99, within),
            lost=shares_lost(self.rounds, name, "program", ("null", True)),
            latency=grown,
            predicted=guesses,
        )

    def growth_next_to(self, name: str) -> tuple[float, float, float] | None:
        """Return the loss of rate and the growth of p50 and p99 next to a job; None if one is unknown."""
        latency = growth(self.rounds, name, "null")
        shares = (shares_lost(self.rounds, name, "program", ("null", True)), latency.p50, latency.p99)
        lost, p50, p99 = (None if one is None else one.value for one in shares)
        return None if lost is None or p50 is None or p99 is None else (lost, p50, p99)


def verdict(grown: Share | None, within: float) -> Literal["kept", "broken", "undecided"]:
    """Judge by its interval whether a percentile grew by at most `within`."""
    if grown is None or grown.low <= within < grown.high:
        return "undecided"
    return "kept" if grown.high <= within else "broken"
