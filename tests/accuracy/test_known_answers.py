"""A server whose service time is known: what Hindmost reports is what queueing theory says.

Two comparisons for each percentile:

1. What was seen against what an ideal queue makes of the very same due times and service times (Lindley's recursion,
   which the oracle's own test holds against the closed forms). No chance is left in it, so seconds are enough. Busy
   periods in which the host took a processor away, from server or client, are left out on both sides alike.
2. What the ideal queue makes of all due times against the closed form of M/D/1 or M/M/1, allowing for the chance of a
   finite run, whose size comes from simulation: successive requests of a busy queue are much alike, and p99 at 80 %
   load needs minutes. So the due times are those of the law; no host can disturb them.
3. What was reported against the samples.

To each service comes what the server needs to read and to write, the middle of its own log's overruns, and no more of it
than `OVERRUN`; to each latency the constant path through the kernel and back, which the same server shows at a
twentieth of full load, where hardly anybody waits.
"""

from __future__ import annotations

import itertools
import socket
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from measuring import managed, measure, need_two_processors
from queueing import Floats, drawn_services, lindley, md1_sojourn, md1_wait_cdf, mm1_sojourn, scatter

from hindmost.targets import ManagedServer
from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

SERVICE_US = 500.0
LEVELS = (0.5, 0.9, 0.95, 0.99)
TOLERANCE = 0.05
SEED = 11
DISTURBED_US = 0.2 * SERVICE_US
"""A request sent, served or received later than this had a processor taken away; what is slower by less is measured."""
LEAST_LEFT = 0.25
"""Fewer undisturbed ones than this share of the requests: that is no matter of single disturbances."""
MOST_NOISE = 0.15
"""Beyond this (three standard deviations) a run is too short to be held against the closed form."""

OVERRUN = 0.02
"""Of a service: 2 to 4 us were measured to read and to write."""


@dataclass(frozen=True)
class Shown:
    """One measurement of the embedded server; microseconds, requests in the order they were served."""

    reported: Floats
    scheduled: Floats
    latency: Floats
    send_delay: Floats
    drawn: Floats
    load: float


class Synth:
    """The embedded server on the first processor, asked by a client on the second."""

    def __init__(self, server: ManagedServer, exponential: bool, client: int, place: Path) -> None:
        self.server, self.exponential, self.client, self.place = server, exponential, client, place
        (place / "few.json").write_text('{"keys": 10, "value_bytes": 10}')

    def stats(self) -> dict[str, int]:
        """Its own account."""
        host, port = self.server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5.0) as talk:
            talk.sendall(b"stats hindmost\r\n")
            heard = b""
            while not heard.endswith(b"END\r\n"):
                heard += talk.recv(65536)
        lines = (line.split() for line in heard.decode().splitlines() if line.startswith("STAT "))
        return {name: int(value) for _, name, value in lines}

    def measure(self, load: float, seconds: float, name: str) -> Shown:
        """Measure it at `load`."""
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
        )
        assert answer.code in (0, 4, 6), answer.err
        served = self.stats()["served"]
        result = answer.result
        rows = answer.study.samples().sort("completed_ns")  # one queue: served in this order
        assert len(rows) == result["counts"]["scheduled"] == result["counts"]["completed"], (
            "every request is kept"
        )
        drawn = np.full(len(rows), SERVICE_US)
        if self.exponential:  # those measured are the last that were served
            drawn = drawn_services(SEED, served, SERVICE_US)[-len(rows) :]
        scheduled = rows["scheduled_ns"].to_numpy() / 1e3
        return Shown(
            np.array([result["runs"][0]["latency_us"][f"p{100 * level:g}"] for level in LEVELS]),
            scheduled,
            rows["completed_ns"].to_numpy() / 1e3 - scheduled,
            rows["sent_ns"].to_numpy() / 1e3 - scheduled,
            drawn,
            load,
        )


def overrun_us(log: Path) -> float:
    """By how much the middle service was longer than drawn."""
    pl = pytest.importorskip("polars")
    lines = pl.read_csv(log)
    overrun = (lines["end_ns"] - lines["start_ns"] - lines["drawn_ns"]).median()
    assert isinstance(overrun, float)
    return overrun / 1e3


def quantiles(values: Floats) -> Floats:
    """By the same rule as the histogram: the least value that the level's share does not exceed."""
    return np.asarray(np.quantile(values, LEVELS, method="inverted_cdf"))


def undisturbed(shown: Shown, service: Floats, path_us: float) -> tuple[Floats, Floats]:
    """Latencies seen, and those of an ideal queue, of all requests in busy periods that nothing disturbed.

    A period ends where both queues are empty, so each begins with a clean slate; the first may have begun earlier.
    """
    ideal = lindley(shown.scheduled, service) + path_us
    done = shown.scheduled + shown.latency
    before, ideal_before = np.roll(done, 1), np.roll(shown.scheduled + ideal, 1)
    begins = shown.scheduled > np.maximum(before, ideal_before)
    period = np.cumsum(begins)
    over = done - np.maximum(before, shown.scheduled + path_us) - service
    bad = (np.abs(over) > DISTURBED_US) | (shown.send_delay > DISTURBED_US)
    bad[0] = True
    spoilt = np.unique(period[bad & (period > 0)])
    keep = (period > 0) & ~np.isin(period, spoilt)
    return shown.latency[keep], ideal[keep]


def judge(law: str, path_us: float, over_us: float, shown: Shown) -> tuple[str, list[str]]:
    """One line for people, and everything that is further off than it may be."""
    exponential = law == "exponential"
    sojourn = mm1_sojourn if exponential else md1_sojourn
    mean = SERVICE_US + over_us
    load = shown.load * mean / SERVICE_US
    service = shown.drawn + over_us
    theory = np.array([sojourn(load, mean, level) for level in LEVELS]) + path_us
    by_scheduled = quantiles(lindley(shown.scheduled, service)) + path_us
    seen, ideal = undisturbed(shown, service, path_us)
    chance = 3.0 * scatter(quantiles, load, len(shown.scheduled), exponential=exponential)
    left = len(seen) / len(shown.scheduled)
    wrong = []
    line = (
        f"{'M/M/1' if exponential else 'M/D/1'} at {load:.3f}, {len(shown.scheduled)} requests, path {path_us:.1f} us,"
        f" services {over_us:+.1f}: reported {shown.reported.round(0)}, theory {theory.round(0)} +- {(100 * chance).round(1)} %,"
        f" of these due times {by_scheduled.round(0)};"
    )
    if abs(over_us) > OVERRUN * SERVICE_US:
        wrong.append(f"services took {over_us:+.1f} us beside what was drawn; {OVERRUN:.0%} is the limit")
    if left < LEAST_LEFT:
        wrong.append(
            f"only {left:.0%} of the requests were served within {DISTURBED_US:.0f} us of an ideal queue"
        )
    else:
        off = quantiles(seen) / quantiles(ideal) - 1.0
        line += f" {left:.0%} undisturbed: {quantiles(seen).round(0)}, off the ideal queue by {(100 * off).round(2)} %"
        for level, error in zip(LEVELS, off, strict=True):
            if abs(error) > TOLERANCE:
                wrong.append(f"p{100 * level:g} is {error:+.1%} off the ideal queue of the same requests")
    for i, level in enumerate(LEVELS):
        name = f"p{100 * level:g}"
        off_theory = by_scheduled[i] / theory[i] - 1.0
        if chance[i] <= MOST_NOISE and abs(off_theory) > TOLERANCE + chance[i]:
            wrong.append(f"{name} is {off_theory:+.1%} off theory, of which {chance[i]:.1%} may be chance")
        if abs(shown.reported[i] / quantiles(shown.latency)[i] - 1.0) > 0.005:
            wrong.append(
                f"{name} is {shown.reported[i]:.0f} us, its samples say {quantiles(shown.latency)[i]:.0f}"
            )
    return line, wrong


def attempt(law: str, load: float, seconds: float, place: Path) -> Finding:
    """Measure, compare, and say what the figures are."""
    server_cpu, client_cpu = need_two_processors()
    place.mkdir()
    service, log = f'{{"kind": "{law}", "mean_us": {SERVICE_US}}}', place / "truth.csv"
    with ManagedServer(
        managed(f"synth?service={service}&idle=spin&seed={SEED}&log={log}"), cpus=[server_cpu]
    ) as server:
        synth = Synth(server, law == "exponential", client_cpu, place)
        alone = synth.measure(0.05, 2.0, "alone")
        shown = synth.measure(load, seconds, "loaded")
    over_us = overrun_us(log)
    path_us = float(np.median(alone.latency - lindley(alone.scheduled, alone.drawn + over_us)))
    line, wrong = judge(law, path_us, over_us, shown)
    return Finding(not wrong, "; ".join([line, *wrong]))


def name(law: str, load: float) -> str:
    """The queue in the words of the field."""
    return f"percentiles of {'M/M/1' if law == 'exponential' else 'M/D/1'} at {load:.0%} are those of theory"


@pytest.mark.parametrize(
    ("law", "load"),
    [("deterministic", 0.8), pytest.param("exponential", 0.5, marks=pytest.mark.nightly)],
)
def test_reported_percentiles_are_those_of_theory(
    law: str, load: float, claim: Claim, tmp_path: Path
) -> None:
    tries = itertools.count()
    claim.settle(
        name(law, load), lambda: attempt(law, load, 8.0, tmp_path / str(next(tries))), limits.BEARS_MORE
    )


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("law", ["deterministic", "exponential"])
def test_reported_percentiles_of_a_long_run_are_those_of_theory(
    law: str, load: float, claim: Claim, tmp_path: Path
) -> None:
    tries, seconds = itertools.count(), 60.0 if load < 0.7 else 240.0
    what = f"{name(law, load)}, in {seconds:g} s"
    claim.settle(what, lambda: attempt(law, load, seconds, tmp_path / str(next(tries))), limits.BEARS_MORE)


def test_the_oracle_agrees_with_itself() -> None:
    random = np.random.default_rng(3)
    scheduled = np.cumsum(random.exponential(1.0 / 0.8, 2_000_000))
    deterministic = quantiles(lindley(scheduled, np.ones(scheduled.size)))
    assert deterministic == pytest.approx([md1_sojourn(0.8, 1.0, level) for level in LEVELS], rel=0.03)
    exponential = quantiles(lindley(scheduled, random.exponential(1.0, scheduled.size)))
    assert exponential == pytest.approx([mm1_sojourn(0.8, 1.0, level) for level in LEVELS], rel=0.05)
    assert md1_wait_cdf(0.5, 0.0) == pytest.approx(0.5), "whoever finds nobody does not wait"
    assert md1_wait_cdf(0.8, 15.0) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("factor", [1.0, 1.08, 0.92])
def test_the_comparison_can_fail(factor: float) -> None:
    random = np.random.default_rng(4)
    scheduled = np.cumsum(random.exponential(1000.0, 20_000))
    service = np.full(scheduled.size, SERVICE_US)
    latency = lindley(scheduled, service * factor) + 20.0
    shown = Shown(quantiles(latency), scheduled, latency, np.zeros(scheduled.size), service, 0.5)
    _, wrong = judge("deterministic", 20.0, 0.0, shown)
    assert (wrong == []) is (factor == 1.0)


def test_a_disturbance_is_left_out_and_a_late_answer_is_not() -> None:
    random = np.random.default_rng(5)
    scheduled = np.cumsum(random.exponential(1000.0, 20_000))
    service = np.full(scheduled.size, SERVICE_US)
    stolen = service.copy()
    stolen[::500] += 5_000.0
    shown = Shown(np.zeros(4), scheduled, lindley(scheduled, stolen), np.zeros(scheduled.size), service, 0.5)
    seen, ideal = undisturbed(shown, service, 0.0)
    assert len(seen) > 10_000
    assert quantiles(seen) == pytest.approx(quantiles(ideal), rel=1e-6)
