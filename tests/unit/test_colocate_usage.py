"""Usage errors of ``hindmost colocate profile`` and ``corun``, and a job that runs in windows only."""

import json
import time
from pathlib import Path

import pytest
from messages import assert_refused, raises
from msgspec import UNSET
from msgspec.structs import replace
from profile_cards import OTHER_PROCESSOR, card, under_load, write_card
from rows import each_row

from hindmost import _engine
from hindmost.commands.colocate.corunner import CoRunner
from hindmost.commands.colocate.processor import allowed_cpus, read_processor
from hindmost.errors import TargetError

URL = "memcached://127.0.0.1:1"
PROBED = ["--probe", "1000", "--probe-address", URL]


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        (PROBED[:2], "missing-argument", {}),
        ([*PROBED, "--work", "cpu"], "conflicting-options", {}),
        (["--probe", "0", *PROBED[2:]], "bad-value", {"option": "--probe"}),
        ([*PROBED, "--window", "90ms"], "few-requests", {}),
    ],
)
def test_inconsistent_probe_options_are_refused(arguments, code, fields, capsys):
    assert_refused(["colocate", "profile", "sleep 60", *arguments], capsys, 2, code, **fields)


def test_profiles_that_cannot_be_run_together_are_refused(tmp_path, capsys):
    here = card("kv", {"l3": 0.1}, {"l3": 0.3}, processor=read_processor(), loaded=under_load(0.1))
    job = replace(here, name="spin", loaded=UNSET)
    far = replace(job, name="far", processor=OTHER_PROCESSOR)
    server, job, far = (write_card(tmp_path, one) for one in (here, job, far))
    for arguments, code, fields in (
        ((job, job), "no-loaded-profile", {"name": "spin"}),
        ((server, job, job), "duplicate-name", {"name": "spin"}),
        ((server,), "missing-argument", {}),
        ((server, job, "--rates", "1k"), "bad-value", {"option": "--rates", "most": 10_000}),
        ((server, far), "other-processor", {"value": OTHER_PROCESSOR.name}),
    ):
        assert_refused(["colocate", "predict", "--measure", *arguments], capsys, 2, code, **fields)


@each_row(
    ("arguments", "option", "other_option"),
    [
        (["predict", "kv", "job", "--lost", "10%", "--advise"], "--lost", "--advise"),
        (["predict", "kv", "job", "--measure", "--load", "50%"], "--load", "--measure"),
        (["predict", "kv", "job", "--out", "x.json"], "--out", "profiles alone"),
        (["predict", "kv", "job", "--measure", "--all-evidence"], "--all-evidence", "--measure"),
        (["predict", "--lost", "10%", "--pairs", "x.json"], "--pairs", "--lost"),
        (["stressors", "--duty", "25%"], "--duty", "measuring all stressors"),
        (["stressors", "--run", "dram", "--picture", "x.svg"], "--picture", "--run"),
    ],
)
def test_options_of_another_mode_are_refused(arguments, option, other_option, capsys):
    assert_refused(
        ["colocate", *arguments], capsys, 2, "conflicting-options", option=option, other=other_option
    )


def test_a_job_runs_in_windows_only_and_restarts_when_it_ends(tmp_path):
    runs = tmp_path / "runs"

    def count():
        return len(runs.read_text().splitlines()) if runs.exists() else 0

    with CoRunner(["sh", "-c", f"echo run >> {runs}; exec sleep 0.02"], allowed_cpus()[0]) as job:
        pid, cpu_ns = job._program.pid, []

        def window():
            start_ns = _engine.monotonic_ns() + 10**6
            report = json.loads(job.run(json.dumps({"start_ns": start_ns, "duration_ns": 10**8})))
            assert _engine.monotonic_ns() - start_ns >= 10**8
            job.check()
            cpu_ns.append(report["cpu_ns"])

        def run_until(least):
            end = time.monotonic() + 20
            while count() < least and time.monotonic() < end:
                window()
            assert count() >= least, "the job was not started again"

        run_until(2)
        end = time.monotonic() + 20
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < end, "the job is not paused between windows"
        run_until(count() + 1)
        assert sum(cpu_ns) > 0
    assert not Path(f"/proc/{pid}").exists()
    with CoRunner(["sh", "-c", "exit 3"], allowed_cpus()[0]) as failing:
        end = time.monotonic() + 20
        while failing._program.ending() is None and time.monotonic() < end:
            failing.run(json.dumps({"start_ns": _engine.monotonic_ns(), "duration_ns": 10**8}))
        with raises(TargetError, "program-ended", exit_status=3):
            failing.check()
