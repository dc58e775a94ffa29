"""A search service beside batch work that YARN-H lets in: its tail stays what it is without any, in rounds of three.

Rounds are: alone, with batch work, alone. The ratio of the second to the mean of the others is the effect, that of the
third to the first is the noise. One processor is the tenant's, and is what batch work harvests, as twelve cores of a
twelfth each; its containers are in a group that the kernel runs while nobody else wants the processor, which is the
fast path: a wakened tenant waits for none of them.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hadoop_daemons import ROOT, daemons, free_ports, replaced, said
from hadoop_yarn import Yarn, batch_group, may_group
from measuring import hindmost, need_two_processors
from scipy import stats

from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

ROUNDS = 5
RATE = 150
CORES = 12
FORGOTTEN_MS = 5000
"""Batch work that was killed asks for cores so long; by stock for ten minutes, and the next round's gets none."""
# A core of twelve: 4 of 48 ms. No double quotes: YARN puts all into some.
BURN = (
    "exec timeout 600 taskset -c {cpu} {python} -c '"
    "import os, sys, time\nwhile os.path.exists(sys.argv[1]):\n e=time.perf_counter()+.004\n"
    " while time.perf_counter()<e: pass\n time.sleep(.044)' {flag}"
)


@dataclass
class Seen:
    """One arm: p99 of the tenant in milliseconds, share of time in which its processor worked."""

    p99: float
    utilisation: float


def ticks(cpu: int) -> tuple[int, int]:
    """Time of a processor: all of it, and what of it was idle."""
    line = next(one for one in Path("/proc/stat").read_text().splitlines() if one.startswith(f"cpu{cpu} "))
    spent = [int(one) for one in line.split()[1:9]]
    return sum(spent), spent[3] + spent[4]


class Arms:
    """The cluster, the tenant, and batch work that comes and goes."""

    def __init__(self, yarn: Yarn, cpu: int, client: int, port: int, folder: Path) -> None:
        self.yarn, self.cpu, self.client, self.port, self.folder = yarn, cpu, client, port, folder
        self.number = itertools.count()

    def measure(self, duration: str = "8s") -> Seen:
        out = self.folder / f"arm-{next(self.number)}"
        load = (
            "--workload",
            ROOT / "search/queries.json",
            "--rate",
            RATE,
            "--duration",
            duration,
            "--warmup",
            "1s",
        )
        host = ("--client-cpus", self.client, "--pacing", "sleep", "--sentinel", "off")
        procedure = (
            "--runs",
            "1",
            "--remake",
            "0",
            "--quantiles",
            "50,99",
            "--json",
            "--quiet",
            "--out",
            out,
        )
        before = ticks(self.cpu)
        target = f"http://127.0.0.1:{self.port}"
        result = hindmost("measure", target, *load, *host, *procedure, study=out).result
        after = ticks(self.cpu)
        return Seen(
            float(result["latency_us"]["p99"]["value"] or math.inf) / 1e3,
            1 - (after[1] - before[1]) / (after[0] - before[0]),
        )

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """As many containers as the reserve and the tenant leave."""
        flag, log = self.folder / "batch.flag", self.folder / "batch.log"
        flag.touch()
        command = BURN.format(cpu=self.cpu, python=sys.executable, flag=flag)
        self.yarn.cluster.start(
            "batch", "hindmost.hadoop.BatchMain", self.yarn.settings, str(CORES), command, tests=True
        )
        try:
            self.yarn.cluster.await_("containers run", lambda: running(log) >= 3)
            yield
        finally:
            self.yarn.cluster.kill("batch")
            flag.unlink()  # containers outlive whom they were given to
            log.unlink(missing_ok=True)


def running(log: Path) -> int:
    """Containers that batch work has by the last of its lines."""
    told = re.findall(r"^(\d+) \d+$", log.read_text(), re.MULTILINE)
    return int(told[-1]) if told else 0


@contextlib.contextmanager
def arms(folder: Path) -> Iterator[Arms]:
    cpu, client = need_two_processors()
    (port,) = free_ports(1)
    folder.mkdir()
    said("build")
    with batch_group() as group, daemons(folder) as cluster:
        load = folder / "127.0.0.2.load"
        replaced(load, "1.0\n")
        idle = {
            "yarn.nodemanager.container-executor.class": "hindmost.hadoop.IdleExecutor",
            "hindmost.harvest.cgroup": group,
            "yarn.am.liveness-monitor.expiry-interval-ms": FORGOTTEN_MS,
        }
        yarn = Yarn(cluster, 1, idle)
        cluster.run(
            "search",
            [
                "taskset",
                "-c",
                str(cpu),
                str(ROOT.parent / "setup/hadoop.sh"),
                "search",
                str(port),
                "20000",
                str(load),
            ],
        )
        cluster.await_("it searches", lambda: "searching" in cluster.log("search"))
        cluster.await_(
            "the reserve is kept", lambda: 0 < yarn.cores().get("127.0.0.2", CORES) <= CORES * 2 // 3
        )
        found = Arms(yarn, cpu, client, port, folder)
        found.measure("15s")  # until its code is compiled
        yield found


def paired(folder: Path, rounds: int = ROUNDS) -> Finding:
    """Rounds of three arms; intervals of 95 % by Student's law of the logarithms."""
    effects, noises, rises = [], [], []
    with arms(folder) as made:
        for _ in range(rounds):
            first = made.measure()
            with made.batch():
                time.sleep(2)  # the keeper has seen them
                mixed = made.measure()
            last = made.measure()
            effects.append(math.log(mixed.p99) - (math.log(first.p99) + math.log(last.p99)) / 2)
            noises.append(math.log(last.p99) - math.log(first.p99))
            rises.append(mixed.utilisation - (first.utilisation + last.utilisation) / 2)
            print(
                f"p99 {first.p99:.2f} {mixed.p99:.2f} {last.p99:.2f} ms, utilisation +{rises[-1]:.0%}",
                flush=True,
            )
    half = stats.t.ppf(0.975, rounds - 1) / math.sqrt(rounds)
    effect, noise = np.mean(effects), np.std(noises, ddof=1)
    low, high = effect - half * np.std(effects, ddof=1), effect + half * np.std(effects, ddof=1)
    figure = (
        f"p99 x {math.exp(effect):.3f} [{math.exp(low):.3f}, {math.exp(high):.3f}] with batch work, two rounds without it"
        f" differ by a factor of {math.exp(noise):.3f}; utilisation {np.mean(rises):+.0%}"
    )
    return Finding(bool(low < noise and np.mean(rises) >= 0.15), figure)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.skipif(
    not may_group(), reason="no cpu controller of version 1 with cpu.idle that may be written"
)
def test_batch_work_by_yarn_h_leaves_the_tail_of_a_primary_tenant_alone(claim: Claim, tmp_path: Path) -> None:
    tries = itertools.count()
    claim.settle(
        "with batch work by YARN-H, p99 of a search service is within its own noise of none",
        lambda: paired(tmp_path / str(next(tries))),
    )
