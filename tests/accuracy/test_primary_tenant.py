"""A search service next to batch work that YARN-H admits: its tail does not grow, in rounds of three.

A round measures alone, with batch work, and alone again. The ratio of the second to the mean of the first and third is
the effect; the ratio of the third to the first is the noise. The tenant has one CPU, which batch work harvests as twelve
cores of a twelfth each. The containers are in a cgroup that the kernel runs only while the CPU is otherwise idle, so a
tenant that wakes up waits for none of them.
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
from hadoop_daemons import ROOT, daemons, free_ports, replace_file, run_setup
from hadoop_yarn import Yarn, batch_group, can_create_group
from measuring import hindmost, need_two_cpus
from scipy import stats

from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

ROUNDS = 5
RATE = 150
CORES = 12
FORGOTTEN_MS = 5000
"""YARN forgets requests of killed batch work after this time. The default is ten minutes, which would starve the next round."""
# Uses a twelfth of a core: 4 of 48 ms. No double quotes, since YARN wraps the command in them.
BURN = (
    "exec timeout 600 taskset -c {cpu} {python} -c '"
    "import os, sys, time\nwhile os.path.exists(sys.argv[1]):\n e=time.perf_counter()+.004\n"
    " while time.perf_counter()<e: pass\n time.sleep(.044)' {flag}"
)


@dataclass
class ArmResult:
    """One arm: the tenant's p99 in milliseconds, and the utilisation of its CPU."""

    p99: float
    utilisation: float


def ticks(cpu: int) -> tuple[int, int]:
    """Total and idle time of a CPU."""
    line = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} "))
    times = [int(field) for field in line.split()[1:9]]
    return sum(times), times[3] + times[4]


class Arms:
    """The cluster, the tenant, and batch work that is started and stopped."""

    def __init__(self, yarn: Yarn, cpu: int, client: int, port: int, folder: Path) -> None:
        self.yarn, self.cpu, self.client, self.port, self.folder = yarn, cpu, client, port, folder
        self.number = itertools.count()

    def measure(self, duration: str = "8s") -> ArmResult:
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
        return ArmResult(
            float(result["latency_us"]["p99"]["value"] or math.inf) / 1e3,
            1 - (after[1] - before[1]) / (after[0] - before[0]),
        )

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Run as many containers as the reserve and the tenant leave room for."""
        flag, log = self.folder / "batch.flag", self.folder / "batch.log"
        flag.touch()
        command = BURN.format(cpu=self.cpu, python=sys.executable, flag=flag)
        self.yarn.cluster.start(
            "batch", "hindmost.hadoop.BatchMain", self.yarn.settings, str(CORES), command, tests=True
        )
        try:
            self.yarn.cluster.await_("containers run", lambda: count_containers(log) >= 3)
            yield
        finally:
            self.yarn.cluster.kill("batch")
            flag.unlink()  # containers outlive the application that started them
            log.unlink(missing_ok=True)


def count_containers(log: Path) -> int:
    """Number of batch containers, from the last matching line of the log."""
    counts = re.findall(r"^(\d+) \d+$", log.read_text(), re.MULTILINE)
    return int(counts[-1]) if counts else 0


@contextlib.contextmanager
def start_arms(folder: Path) -> Iterator[Arms]:
    cpu, client = need_two_cpus()
    (port,) = free_ports(1)
    folder.mkdir()
    run_setup("build")
    with batch_group() as group, daemons(folder) as cluster:
        load = folder / "127.0.0.2.load"
        replace_file(load, "1.0\n")
        idle = {
            "yarn.nodemanager.container-executor.class": "hindmost.hadoop.IdleExecutor",
            "hindmost.harvest.cgroup": group,
            "yarn.am.liveness-monitor.expiry-interval-ms": FORGOTTEN_MS,
        }
        # Hadoop's own work is not what is measured: it stays off the tenant's CPU, and yields to the client.
        off_tenant = ["taskset", "-c", str(client), "chrt", "--idle", "0"]
        cluster.prefix = off_tenant
        yarn = Yarn(cluster, 1, idle)
        cluster.prefix = []
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
        cluster.prefix = off_tenant
        arms = Arms(yarn, cpu, client, port, folder)
        arms.measure("15s")  # until the JVM has compiled the code
        yield arms


def compare_rounds(folder: Path, rounds: int = ROUNDS) -> Finding:
    """Rounds of three arms, with 95 % Student intervals of the logarithms."""
    effects, noises, rises = [], [], []
    with start_arms(folder) as arms:
        for _ in range(rounds):
            first = arms.measure()
            with arms.batch():
                time.sleep(2)  # the keeper notices the containers
                mixed = arms.measure()
            last = arms.measure()
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
@pytest.mark.skipif(not can_create_group(), reason="needs a writable cgroup v1 cpu controller with cpu.idle")
def test_batch_work_by_yarn_h_does_not_lengthen_the_tail_of_a_primary_tenant(
    claim: Claim, tmp_path: Path
) -> None:
    tries = itertools.count()
    claim.settle(
        "batch work by YARN-H changes the p99 of a search service by no more than its own noise",
        lambda: compare_rounds(tmp_path / str(next(tries))),
    )
