"""For a server whose service time is known, Hindmost reports what queueing theory predicts.

Three comparisons for each percentile:

1. The observed latencies against an ideal queue with the same scheduled times and service times (Lindley's recursion,
   which `test_the_oracle_agrees_with_itself` checks against the closed forms). No chance is left in this comparison, so
   seconds are enough. Busy periods in which server or client lost a CPU are excluded on both sides.
2. The ideal queue for all scheduled times against the closed form of M/D/1 or M/M/1, allowing for the chance of a finite
   run. Its size comes from simulation: successive requests of a busy queue are correlated, and p99 at 80 % load needs
   minutes. This checks that scheduled times follow the law; the host cannot disturb them.
3. The reported percentiles against the samples.

Each service also includes the server's read and write, the median of the overruns in its own log, at most `OVERRUN`.
Each latency also includes the constant path through the kernel and back. The same server shows it at 5 % load, where
hardly any request waits.
"""

from __future__ import annotations

import itertools
import socket
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from measuring import measure, need_two_cpus, parse_managed
from queueing import Floats, drawn_services, lindley, md1_sojourn, md1_wait_cdf, mm1_sojourn, scatter

from hindmost.core.targets import ManagedServer
from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

SERVICE_US = 500.0
LEVELS = (0.5, 0.9, 0.95, 0.99)
TOLERANCE = 0.05
SEED = 11
KEYS = 10
"""Keys of the workload: each is removed after the run, by one request that the server serves as well."""
STARTING_S = 60.0
"""Longest time that a measurement takes beside its run."""
DISTURBED_US = 0.2 * SERVICE_US
"""A request sent, served or received later than this lost a CPU; smaller delays are measured."""
LEAST_LEFT = 0.25
"""A smaller share of undisturbed requests means that more than single disturbances is wrong."""
MOST_NOISE = 0.15
"""Above this (three standard deviations) a run is too short to be compared with the closed form."""

OVERRUN = 0.02
"""Share of a service: reading and writing were measured to take 2 to 4 us."""


@dataclass(frozen=True)
class Samples:
    """One measurement of the embedded server; in microseconds, requests in the order of service."""

    reported: Floats
    scheduled: Floats
    latency: Floats
    send_delay: Floats
    drawn: Floats
    load: float


class Synth:
    """The embedded server on the first CPU, measured by a client on the second."""

    def __init__(self, server: ManagedServer, exponential: bool, client: int, place: Path) -> None:
        self.server, self.exponential, self.client, self.place = server, exponential, client, place
        (place / "few.json").write_text(f'{{"keys": {KEYS}, "value_bytes": 10}}')

    def stats(self) -> dict[str, int]:
        """Read the server's own counters."""
        host, port = self.server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5.0) as connection:
            connection.sendall(b"stats hindmost\r\n")
            reply = b""
            while not reply.endswith(b"END\r\n"):
                reply += connection.recv(65536)
        lines = (line.split() for line in reply.decode().splitlines() if line.startswith("STAT "))
        return {name: int(value) for _, name, value in lines}

    def measure(self, load: float, seconds: float, name: str) -> Samples:
        """Measure at `load`."""
        rate = load / SERVICE_US * 1e6
        answer = measure(
            f"memcached://{self.server.address}",
            self.place / name,
            "--runs",
            "1",
            "--timeout",
            "20s",
            "--rate",
            f"{rate:.6f}",
            "--duration",
            f"{seconds}s",
            "--warmup",
            "1s",
            "--client-cpus",
            self.client,
            "--workload",
            self.place / "few.json",
            "--samples",
            int(3 * rate * seconds),
            "--quantiles",
            ",".join(f"{100 * level:g}" for level in LEVELS),
            "--seed",
            5,
            timeout_s=seconds + STARTING_S,
        )
        assert answer.code in (0, 4, 6), answer.err
        count = self.stats()["served"]
        result = answer.result
        rows = answer.study.samples().sort("completed_ns")  # one queue serves in this order
        assert len(rows) == result["counts"]["scheduled"] == result["counts"]["completed"], (
            "every request is kept"
        )
        drawn = np.full(len(rows), SERVICE_US)
        if self.exponential:  # only removals of keys are served after the measured requests
            drawn = drawn_services(SEED, count - KEYS, SERVICE_US)[-len(rows) :]
        scheduled = rows["scheduled_ns"].to_numpy() / 1e3
        return Samples(
            np.array([result["runs"][0]["latency_us"][f"p{100 * level:g}"] for level in LEVELS]),
            scheduled,
            rows["completed_ns"].to_numpy() / 1e3 - scheduled,
            rows["sent_ns"].to_numpy() / 1e3 - scheduled,
            drawn,
            load,
        )


def overrun_us(log: Path) -> float:
    """Median of actual minus drawn service time."""
    pl = pytest.importorskip("polars")
    lines = pl.read_csv(log)
    overrun = (lines["end_ns"] - lines["start_ns"] - lines["drawn_ns"]).median()
    assert isinstance(overrun, float)
    return overrun / 1e3


def quantiles(values: Floats) -> Floats:
    """By the same rule as the histogram: the smallest value whose cumulative share reaches the level."""
    return np.asarray(np.quantile(values, LEVELS, method="inverted_cdf"))


def select_undisturbed(samples: Samples, service: Floats, path_us: float) -> tuple[Floats, Floats]:
    """Latencies, observed and of an ideal queue, of all requests in undisturbed busy periods.

    A period ends where both queues are empty, so periods are independent. The first may have begun before the samples.
    """
    ideal = lindley(samples.scheduled, service) + path_us
    done = samples.scheduled + samples.latency
    before, ideal_before = np.roll(done, 1), np.roll(samples.scheduled + ideal, 1)
    begins = samples.scheduled > np.maximum(before, ideal_before)
    period = np.cumsum(begins)
    excess = done - np.maximum(before, samples.scheduled + path_us) - service
    bad = (np.abs(excess) > DISTURBED_US) | (samples.send_delay > DISTURBED_US)
    bad[0] = True
    bad_periods = np.unique(period[bad & (period > 0)])
    keep = (period > 0) & ~np.isin(period, bad_periods)
    return samples.latency[keep], ideal[keep]


def judge(law: str, path_us: float, over_us: float, samples: Samples) -> tuple[str, list[str]]:
    """One line of figures, and every deviation above its limit."""
    exponential = law == "exponential"
    sojourn = mm1_sojourn if exponential else md1_sojourn
    mean = SERVICE_US + over_us
    load = samples.load * mean / SERVICE_US
    service = samples.drawn + over_us
    theory = np.array([sojourn(load, mean, level) for level in LEVELS]) + path_us
    by_scheduled = quantiles(lindley(samples.scheduled, service)) + path_us
    observed, ideal = select_undisturbed(samples, service, path_us)
    chance = 3.0 * scatter(quantiles, load, len(samples.scheduled), exponential=exponential)
    share = len(observed) / len(samples.scheduled)
    wrong = []
    line = (
        f"{'M/M/1' if exponential else 'M/D/1'} at {load:.3f}, {len(samples.scheduled)} requests, path {path_us:.1f} us,"
        f" services {over_us:+.1f}: reported {samples.reported.round(0)}, theory {theory.round(0)} +- {(100 * chance).round(1)} %,"
        f" of these scheduled times {by_scheduled.round(0)};"
    )
    if abs(over_us) > OVERRUN * SERVICE_US:
        wrong.append(f"services took {over_us:+.1f} us longer than drawn; the limit is {OVERRUN:.0%}")
    if share < LEAST_LEFT:
        wrong.append(
            f"only {share:.0%} of the requests were served within {DISTURBED_US:.0f} us of an ideal queue"
        )
    else:
        off = quantiles(observed) / quantiles(ideal) - 1.0
        line += f" {share:.0%} undisturbed: {quantiles(observed).round(0)}, off the ideal queue by {(100 * off).round(2)} %"
        for level, error in zip(LEVELS, off, strict=True):
            if abs(error) > TOLERANCE:
                wrong.append(f"p{100 * level:g} is {error:+.1%} off the ideal queue of the same requests")
    for i, level in enumerate(LEVELS):
        name = f"p{100 * level:g}"
        off_theory = by_scheduled[i] / theory[i] - 1.0
        if chance[i] <= MOST_NOISE and abs(off_theory) > TOLERANCE + chance[i]:
            wrong.append(f"{name} is {off_theory:+.1%} off theory, of which {chance[i]:.1%} may be chance")
        if abs(samples.reported[i] / quantiles(samples.latency)[i] - 1.0) > 0.005:
            wrong.append(
                f"{name} is {samples.reported[i]:.0f} us, its samples say {quantiles(samples.latency)[i]:.0f}"
            )
    return line, wrong


def attempt(law: str, load: float, seconds: float, place: Path) -> Finding:
    """Measure once and compare."""
    server_cpu, client_cpu = need_two_cpus()
    place.mkdir()
    service, log = f'{{"kind": "{law}", "mean_us": {SERVICE_US}}}', place / "truth.csv"
    with ManagedServer(
        parse_managed(f"synth?service={service}&idle=spin&seed={SEED}&log={log}"), cpus=[server_cpu]
    ) as server:
        synth = Synth(server, law == "exponential", client_cpu, place)
        alone = synth.measure(0.05, 2.0, "alone")
        samples = synth.measure(load, seconds, "loaded")
    over_us = overrun_us(log)
    path_us = float(np.median(alone.latency - lindley(alone.scheduled, alone.drawn + over_us)))
    line, wrong = judge(law, path_us, over_us, samples)
    return Finding(not wrong, "; ".join([line, *wrong]))


def describe(law: str, load: float) -> str:
    """The claim, with the queue in Kendall's notation."""
    return f"percentiles of {'M/M/1' if law == 'exponential' else 'M/D/1'} at {load:.0%} agree with theory"


@pytest.mark.parametrize(
    ("law", "load"), [("deterministic", 0.8), pytest.param("exponential", 0.5, marks=pytest.mark.nightly)]
)
def test_reported_percentiles_agree_with_theory(law: str, load: float, claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        describe(law, load),
        lambda: attempt(law, load, 8.0, tmp_path / str(next(tries))),
        limits.MAX_INTERFERENCE_LOOSE,
    )


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("law", ["deterministic", "exponential"])
def test_reported_percentiles_of_a_long_run_agree_with_theory(
    law: str, load: float, claim: Claim, tmp_path: Path
) -> None:
    tries, seconds = itertools.count(), 60.0 if load < 0.7 else 240.0
    what = f"{describe(law, load)}, in {seconds:g} s"
    claim.settle(
        what, lambda: attempt(law, load, seconds, tmp_path / str(next(tries))), limits.MAX_INTERFERENCE_LOOSE
    )


def test_the_oracle_agrees_with_itself() -> None:
    random = np.random.default_rng(3)
    scheduled = np.cumsum(random.exponential(1.0 / 0.8, 2_000_000))
    deterministic = quantiles(lindley(scheduled, np.ones(scheduled.size)))
    assert deterministic == pytest.approx([md1_sojourn(0.8, 1.0, level) for level in LEVELS], rel=0.03)
    exponential = quantiles(lindley(scheduled, random.exponential(1.0, scheduled.size)))
    assert exponential == pytest.approx([mm1_sojourn(0.8, 1.0, level) for level in LEVELS], rel=0.05)
    assert md1_wait_cdf(0.5, 0.0) == pytest.approx(0.5), "a request that meets an empty queue does not wait"
    assert md1_wait_cdf(0.8, 15.0) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("factor", [1.0, 1.08, 0.92])
def test_the_comparison_can_fail(factor: float) -> None:
    random = np.random.default_rng(4)
    scheduled = np.cumsum(random.exponential(1000.0, 20_000))
    service = np.full(scheduled.size, SERVICE_US)
    latency = lindley(scheduled, service * factor) + 20.0
    samples = Samples(quantiles(latency), scheduled, latency, np.zeros(scheduled.size), service, 0.5)
    _, wrong = judge("deterministic", 20.0, 0.0, samples)
    assert (wrong == []) is (factor == 1.0)


def test_a_disturbance_is_excluded_and_a_late_answer_is_not() -> None:
    random = np.random.default_rng(5)
    scheduled = np.cumsum(random.exponential(1000.0, 20_000))
    service = np.full(scheduled.size, SERVICE_US)
    stolen = service.copy()
    stolen[::500] += 5_000.0
    samples = Samples(
        np.zeros(4), scheduled, lindley(scheduled, stolen), np.zeros(scheduled.size), service, 0.5
    )
    observed, ideal = select_undisturbed(samples, service, 0.0)
    assert len(observed) > 10_000
    assert quantiles(observed) == pytest.approx(quantiles(ideal), rel=1e-6)
