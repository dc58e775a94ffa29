"""Claims that Rust tests make: built once, and each run of one is an attempt.

They are ``#[ignore = "precision"]``: `cargo test` alone says nothing about them.
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
    "instances": [
        "embedded_server::a_warm_up_ends_soon_after_its_minimum",
        "overload::measured_throughput_does_not_exceed_a_slow_servers_capacity",
        "real_servers::few_requests_are_resent_to_a_server_that_limits_keep_alive",
        "real_servers::pipelined_requests_are_sent_soon_and_most_have_stamps",
        "several::with_renewed_connections_a_dead_server_loses_only_its_requests_and_is_used_again",
    ],
}


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """Test binaries by name, as cargo builds them for `make test`."""
    words = ["cargo", "test", "--release", "--workspace", "--locked", "--no-run"]
    for name in CLAIMS:
        words += ["--test", name]
    done = subprocess.run(
        [*words, "--message-format=json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BUILD_S,
    )
    assert done.returncode == 0, done.stderr
    built = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["target"]["name"]: Path(one["executable"]) for one in built if one.get("executable")}


def run(program: Path, test: str) -> Finding:
    """One run of one test; its figures are what it printed."""
    done = subprocess.run(
        [program, "--ignored", "--exact", test, "--nocapture"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert "running 1 test" in done.stdout, f"no test {test} in {program}"
    # What libtest says, and where a panic came from, are no figures.
    noise = ("test ", "running ", "note:", "thread '", "stack backtrace", "failures:", " ", "\t")
    said = [line for line in done.stdout.splitlines() if line and not line.startswith(noise)]
    return Finding(done.returncode == 0, "; ".join(said))


def attempt(program: Path, test: str) -> Callable[[], Finding]:
    return lambda: run(program, test)


@pytest.mark.parametrize(("name", "test"), [(name, test) for name, tests in CLAIMS.items() for test in tests])
def test_servers_and_clients_keep_time(name: str, test: str, claim: Claim, programs: dict[str, Path]) -> None:
    if test.startswith("real_servers"):
        need("nginx")
    claim.settle(f"{name}: {test.replace('_', ' ')}", attempt(programs[name], test), limits.BEARS_MORE)


def test_every_test_that_is_ignored_for_precision_is_run_here(programs: dict[str, Path]) -> None:
    for name, program in programs.items():
        listed = subprocess.run([program, "--ignored", "--list"], capture_output=True, text=True, check=True)
        found = {
            line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")
        }
        assert found == set(CLAIMS[name])
