"""What ``hindmost colocate profile`` and ``corun`` refuse before anything is started, and a job beside a server."""

import json
import time
from pathlib import Path

import pytest
from messages import assert_refused, raises
from rows import each_row

from hindmost import _engine
from hindmost.errors import TargetError
from hindmost.studies.colocation.corunner import CoRunner
from hindmost.studies.colocation.processor import allowed_cpus, read_processor

URL = "memcached://127.0.0.1:1"
PROBED = ["--probe", "1000", "--probe-address", URL]


@pytest.mark.parametrize(
    ("words", "code", "fields"),
    [
        (PROBED[:2], "missing-argument", {}),
        ([*PROBED, "--work", "cpu"], "conflicting-options", {}),
        (["--probe", "0", *PROBED[2:]], "bad-value", {"option": "--probe"}),
        ([*PROBED, "--window", "90ms"], "few-requests", {}),
    ],
)
def test_options_of_a_profile_that_make_no_load_are_refused(words, code, fields, capsys):
    assert_refused(["colocate", "profile", "sleep 60", *words], capsys, 2, code, **fields)


def share(value):
    return {"value": value, "low": value - 0.01, "high": value + 0.01, "windows": 5}


@pytest.fixture
def write(tmp_path):
    """Writes a card of a program, and returns its path."""

    def one(name, **more):
        axis = {"stressor": "l3", "sensitivity": share(0.1), "contentiousness": share(0.3)}
        axis["latency"] = {"p50": share(0.1), "p99": share(0.2)}
        method = {"unit": "requests", "window_ms": 60.0, "windows": 40, "dropped": 0, "real_time": False}
        found = {
            "schema": "hindmost.profile/2",
            "name": name,
            "command": [name],
            "processor": read_processor(),
        }
        found |= {"placement": "near", "rate_per_s": 30000.0, "spread": 0.1, "presence": None, "axes": [axis]}
        found |= {"noise": 0.1, "method": method | {"seed": 1, "took_s": 8.0}, "notes": []} | more
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(found), encoding="utf-8")
        return str(path)

    return one


def test_cards_that_cannot_be_run_together_are_refused(write, capsys):
    loaded = {"address": URL, "requested_per_s": 2000.0, "busy": 0.1}
    server, job = write("kv", loaded=loaded), write("spin")
    other = {"vendor": "GenuineIntel", "family": 6, "model": 1, "name": "Other"}
    for words, code, fields in (
        ((job, job), "no-loaded-profile", {"name": "spin"}),
        ((server, job, job), "duplicate-name", {"name": "spin"}),
        ((server,), "missing-argument", {}),
        ((server, job, "--rates", "1k"), "bad-value", {"option": "--rates", "most": 10_000}),
        ((server, write("far", processor=other)), "other-processor", {"value": "Other"}),
    ):
        assert_refused(["colocate", "predict", "--measure", *words], capsys, 2, code, **fields)


@each_row(
    ("words", "option", "other"),
    [
        (["predict", "kv", "job", "--lost", "10%", "--advise"], "--lost", "--advise"),
        (["predict", "kv", "job", "--measure", "--load", "50%"], "--load", "--measure"),
        (["predict", "kv", "job", "--page", "x.html"], "--page", "profiles alone"),
        (["predict", "--lost", "10%", "--pairs", "x.json"], "--pairs", "--lost"),
        (["stressors", "--duty", "25%"], "--duty", "measuring all stressors"),
        (["stressors", "--run", "dram", "--picture", "x.svg"], "--picture", "--run"),
    ],
)
def test_options_of_another_way_are_refused(words, option, other, capsys):
    assert_refused(["colocate", *words], capsys, 2, "conflicting-options", option=option, other=other)


def test_a_job_works_in_windows_only_and_again_where_it_ends(tmp_path):
    runs = tmp_path / "runs"

    def count():
        return len(runs.read_text().splitlines()) if runs.exists() else 0

    with CoRunner(["sh", "-c", f"echo run >> {runs}; exec sleep 0.02"], allowed_cpus()[0]) as one:
        pid, used = one._program.pid, []

        def window():
            begun = _engine.monotonic_ns() + 10**6
            told = json.loads(one.run(json.dumps({"start_ns": begun, "duration_ns": 10**8})))
            assert _engine.monotonic_ns() - begun >= 10**8
            one.check()
            used.append(told["cpu_ns"])

        def until(least):
            end = time.monotonic() + 20
            while count() < least and time.monotonic() < end:
                window()
            assert count() >= least, "it ends, and begins again"

        until(2)
        end = time.monotonic() + 20
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < end, "it does not stand still between windows"
        until(count() + 1)
        assert sum(used) > 0
    assert not Path(f"/proc/{pid}").exists()
    with CoRunner(["sh", "-c", "exit 3"], allowed_cpus()[0]) as failing:
        end = time.monotonic() + 20
        while failing._program.ending() is None and time.monotonic() < end:
            failing.run(json.dumps({"start_ns": _engine.monotonic_ns(), "duration_ns": 10**8}))
        with raises(TargetError, "program-ended", exit_status=3):
            failing.check()
