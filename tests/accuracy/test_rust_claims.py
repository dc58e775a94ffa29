"""Claims of Rust tests: the binaries are built once, and each run of a test is one attempt.

The tests are marked ``#[ignore = "precision"]``, so `cargo test` alone does not run them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from measuring import need

from tests.accuracy import limits
from tests.accuracy.claims import Claim
from tests.accuracy.judging import Finding

ROOT = Path(__file__).parents[2]
BUILD_S, RUN_S = 800, 120

CLAIMS = {
    "synth": [
        "simulator::one_thread_agrees_with_the_simulator",
        "simulator::two_threads_agree_with_the_simulator",
        "simulator::lock_waits_agree_with_the_simulator",
        "simulator::arrays_of_locks_agree_with_the_simulator",
        "simulator::load_dependence_agrees_with_the_simulator",
        "simulator::pauses_agree_with_the_simulator",
        "simulator::random_interruptions_agree_with_the_simulator",
        "known_answers::sojourn_times_agree_with_queueing_theory",
        "sockets::deterministic_service_times_are_kept",
    ],
    "clients": [
        "embedded_server::a_warm_up_ends_soon_after_its_minimum",
        "overload::measured_throughput_does_not_exceed_a_slow_servers_capacity",
        "real_servers::few_requests_are_resent_to_a_server_that_limits_keep_alive",
        "real_servers::pipelined_requests_are_sent_soon_and_most_have_stamps",
        "several::with_renewed_connections_a_dead_server_loses_only_its_requests_and_is_used_again",
    ],
}


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """Test binaries by name, built with the profile of `make test`."""
    command = ["cargo", "test", "--release", "--workspace", "--locked", "--no-run"]
    for name in CLAIMS:
        command += ["--test", name]
    process = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, timeout=BUILD_S
    )
    assert process.returncode == 0, process.stderr
    artifacts = [json.loads(line) for line in process.stdout.splitlines()]
    return {
        artifact["target"]["name"]: Path(artifact["executable"])
        for artifact in artifacts
        if artifact.get("executable")
    }


def run(program: Path, test: str) -> Finding:
    """Run one test; what it prints are the figures."""
    process = subprocess.run(
        [program, "--ignored", "--exact", test, "--nocapture"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert "running 1 test" in process.stdout, f"no test {test} in {program}"
    # Lines of libtest and the location of a panic are not figures.
    noise = ("test ", "running ", "note:", "thread '", "stack backtrace", "failures:", " ", "\t")
    figures = [line for line in process.stdout.splitlines() if line and not line.startswith(noise)]
    return Finding(process.returncode == 0, "; ".join(figures))


def attempt(program: Path, test: str) -> Callable[[], Finding]:
    return lambda: run(program, test)


@pytest.mark.parametrize(("name", "test"), [(name, test) for name, tests in CLAIMS.items() for test in tests])
def test_servers_and_clients_keep_time(name: str, test: str, claim: Claim, programs: dict[str, Path]) -> None:
    if test.startswith("real_servers"):
        need("nginx")
    claim.settle(
        f"{name}: {test.replace('_', ' ')}", attempt(programs[name], test), limits.MAX_INTERFERENCE_LOOSE
    )


def test_every_test_that_is_ignored_for_precision_is_run_here(programs: dict[str, Path]) -> None:
    for name, program in programs.items():
        listing = subprocess.run([program, "--ignored", "--list"], capture_output=True, text=True, check=True)
        tests = {
            line.removesuffix(": test") for line in listing.stdout.splitlines() if line.endswith(": test")
        }
        assert tests == set(CLAIMS[name])
