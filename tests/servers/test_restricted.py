"""In a container whose seccomp profile refuses system calls, commands do the rest or refuse with a code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from seccomp import refuse_calls

SHORT = (
    *("--rate", "500", "--runs", "2", "--duration", "300ms", "--warmup", "200ms", "--quantiles", "50"),
    *("--remake", "0", "--quiet", "--json"),
)


def run_without(calls: list[str], folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command whose process and children may not make these calls; return its code and document."""
    ended = subprocess.run(
        [sys.executable, "-m", "hindmost", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        preexec_fn=refuse_calls(calls),
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, json.loads(ended.stdout)


@pytest.mark.parametrize("target", ["synth", pytest.param("memcached", marks=pytest.mark.memcached)])
def test_without_the_right_to_choose_cpus_a_server_is_measured_unpinned(target, tmp_path):
    code, document = run_without(["sched_setaffinity"], tmp_path, "measure", target, *SHORT)
    assert code in (0, 4, 6)
    assert document["counts"]["completed"] > 0
    assert "not-pinned" in {one["code"] for one in document["reasons"]}
    assert not any(document["plan"]["client_cpus"])
    assert document["plan"]["server_cpus"] == []


@pytest.mark.parametrize("option", ["--server-cpus", "--client-cpus"])
def test_named_cpus_are_refused_without_the_right_to_choose_them(option, tmp_path):
    code, document = run_without(["sched_setaffinity"], tmp_path, "measure", "synth", option, "0", *SHORT)
    assert (code, document["code"], document["fields"]["option"]) == (5, "not-pinned", option)


def test_without_performance_events_and_bpf_a_server_is_measured(tmp_path):
    calls = ["perf_event_open", "bpf", "io_uring_setup"]
    code, document = run_without(calls, tmp_path, "measure", "synth", *SHORT)
    assert code in (0, 4, 6)
    assert document["counts"]["completed"] > 0


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (("measure", "synth", *SHORT, "--io", "io_uring"), 1, "no-uring"),
        (("colocate", "stressors", "--json"), 5, "stressor-processor"),
        (
            ("clone", "serve", "silo", "--integrated", "--rate", "500", "--requests", "500", "--json"),
            1,
            "pin",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_its_code(words, exit_code, code, tmp_path):
    calls = ["sched_setaffinity", "bpf", "perf_event_open", "io_uring_setup"]
    ended, document = run_without(calls, tmp_path, *words)
    assert (ended, document["code"]) == (exit_code, code)
