"""What the command line says: help, mistakes, doctor, progress. HINDMOST_REFRESH_GOLDEN=1 writes it anew."""

import io
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hindmost import _engine
from hindmost.cli import main, progress
from hindmost.cli.verbs import every

DATA = Path(__file__).parent / "data"

FINDINGS = {
    "facts": {"cpus_online": 2, "kernel": "6.1.0"},
    "findings": [
        {
            "id": "cores",
            "title": "CPUs",
            "value": "2",
            "mark": "mind",
            "why": "one for the server, one for a client: nothing is left for anybody else",
            "hint": "use a machine with 4 or more",
        },
        {"id": "clock", "title": "Clock source", "value": "tsc", "mark": "fine", "why": None, "hint": None},
        {
            "id": "noise",
            "title": "Noise floor",
            "value": "61 % of the time taken on CPU 1",
            "mark": "unfit",
            "why": "requests due at random moments wait 17 ms at p99 for these gaps alone",
            "hint": "find other processes with `top -H -o %CPU`, and stop them",
        },
    ],
}

MISTAKES = [
    [],
    ["mesure", "memcached"],
    ["--bogus"],
    ["measure"],
    ["measure", "--raet", "5k", "memcached"],
    ["measure", "memcached", "--bogus"],
    ["measure", "memcached", "--rate"],
    ["measure", "memcached", "redis"],
    ["measure", "memcached", "--rate", "fast"],
    ["measure", "memcached", "--rate", "0"],
    ["measure", "memcached", "--rate=-5"],
    ["measure", "memcached", "--rate", "nan"],
    ["measure", "memcached", "--rate", "1e12"],
    ["measure", "memcached", "--clients", "many"],
    ["measure", "memcached", "--clients", "1.5"],
    ["measure", "memcached", "--clients", "0"],
    ["measure", "memcached", "--connections", "0"],
    ["measure", "memcached", "--pacing", "spinn"],
    ["measure", "memcached", "--arrivals", "gauss"],
    ["measure", "memcached", "--runs", "30..10"],
    ["measure", "memcached", "--precision", "0"],
    ["measure", "memcached", "--duration", "10"],
    ["measure", "memcached", "--warmup", "cold"],
    ["measure", "memcached", "--quantiles", "101"],
    ["measure", "memcached", "--quantiles", "0.99"],
    ["measure", "memcached", "--quick", "--runs", "5"],
    ["measure", "memcached", "--find-rate", "p99<300us", "--quick"],
    ["measure", "memcached", "--workload", "DIR/mix.json"],
    ["measure", "memcached", "--workload", "DIR/share.json"],
    ["measure", "DIR/server.toml"],
    ["attribute", "DIR/factors.toml", "--dry-run"],
    ["measure", "memcached", "--seed", "-1"],
    ["measure", "memcached", "--seed", "1", "--seed", "2"],
    ["measure", "memcached", "--server-cpus", "4095"],
    ["measure", "memcached", "--client-cpus", "a-b"],
    ["measure", "memcached", "--require", "p99"],
    ["measure", "memcached", "--require", "p99.99<1ms"],
    ["measure", "memcached", "--require", "p99<1ms", "--require", "p99>2ms"],
    ["measure", "memcached", "--require", "max<5ms"],
    ["measure", "memcached", "--require", "error<1%"],
    ["measure", "memcached", "--rate", "20k", "--require", "throughput>49k"],
    ["measure", "memcached", "--junit", "limits.xml"],
    ["measure", "memcached", "--require", "p99<1ms", "--junit", "none/limits.xml"],
    ["measure", "memcached", "--workload", "DIR/none.json"],
    ["measure", "memcachd"],
    ["measure", "memcached://127.0.0.1:11211", "--server-cpus", "0"],
    ["measure", "memcached", "--find-rate", "p99"],
    ["measure", "memcached", "--find-rate", "p99<300us", "--closed"],
    ["measure", "memcached", "--find-rate", "p99<300us", "--require", "p99<1ms"],
    ["measure", "memcached", "--find-rate", "p99<300us", "--precision", "2%"],
    ["measure", "memcached", "--find-rate", "p99<300us", "--runs", "2"],
    ["measure", "memcached", "--find-rate", "p99<300us", "--rate", "2"],
    ["measure", "--resume", "DIR", "--find-rate", "p99<300us"],
    ["measure", "--resume", "DIR", "memcached"],
    ["measure", "--resume", "DIR", "--rate", "5k"],
    ["measure", "--resume", "DIR", "--server-cpus", "0"],
    ["measure", "--resume", "DIR/none"],
    ["report"],
    ["report", "DIR/none"],
    ["report", "DIR", "DIR"],
    ["load"],
    ["load", "DIR/none.json"],
    ["load", "DIR/plan.json", "--out", "DIR/out"],
    ["load", "DIR/plan.json", "--out", "DIR/plan.json/out"],
    ["doctor", "--spin", "2m"],
    ["doctor", "--spin", "0s"],
    ["doctor", "memcachd"],
    ["doctor", "memcached://127.0.0.1:1"],
    ["synth", "shwo"],
    ["knobs", "lsit"],
    ["knobs", "set", "thp"],
    ["synth", "show"],
    ["synth", "show", "mastree"],
    ["synth", "show", "DIR/plan.json"],
]


def check(name: str, text: str) -> None:
    file = DATA / name
    if os.environ.get("HINDMOST_REFRESH_GOLDEN") == "1":
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{file.name} is missing: run with HINDMOST_REFRESH_GOLDEN=1"
    assert text == file.read_text(encoding="utf-8"), (
        f"{file.name} differs: HINDMOST_REFRESH_GOLDEN=1 refreshes it"
    )


@pytest.fixture
def say(capsys, monkeypatch, tmp_path):
    """Run a command as on a terminal of 80 columns; gives what it says, free of this machine's paths."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    (tmp_path / "mix.json").write_text('{\n  "keys": 100,\n  "get_ration": 0.9\n}\n')
    (tmp_path / "share.json").write_text('{\n  "get_ratio": 1.9\n}\n')
    (tmp_path / "server.toml").write_text(
        'name = "mine"\nprotocol = "http"\ncommand = ["./server", "{port}"]\n\n[ready]\nkindd = "tcp"\n'
    )
    study = (Path(__file__).parents[2] / "examples/attribution/memcached.toml").read_text()
    (tmp_path / "factors.toml").write_text(study.replace('interference = "spin"', 'interferense = "spin"'))
    (tmp_path / "plan.json").write_text('{"schema": "hindmost.plan/1", "seed": -1}')

    def run(arguments: list[str]) -> str:
        code = main([argument.replace("DIR", str(tmp_path)) for argument in arguments])
        said = capsys.readouterr()
        text = f"$ hindmost {' '.join(arguments)}\n"
        text += said.out + re.sub("^", "2> ", said.err.rstrip("\n"), flags=re.MULTILINE).removesuffix("2> ")
        return f"{text.rstrip()}\n= {code}\n".replace(str(tmp_path), "DIR")

    return run


@pytest.mark.parametrize("verb", ["", *(" ".join(words) for words in every())])
def test_help_is_what_it_was(say, verb):
    check(f"cli_help_{verb.replace(' ', '_') or 'all'}.txt", say([*verb.split(), "--help"]))


@pytest.mark.parametrize("columns", [60, 132])
def test_help_fits_the_terminal(columns):
    script = "from hindmost.cli import main; main(['measure', '--help'])"
    environment = os.environ | {"COLUMNS": str(columns)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    body = done.stdout[: done.stdout.index("Examples:")].splitlines()
    assert max(map(len, body)) <= min(columns, 100)
    assert max(map(len, body)) > 55


def test_mistakes_are_told_as_they_were(say):
    check("cli_mistakes.txt", "\n".join(say(arguments) for arguments in MISTAKES))


@pytest.mark.parametrize("arguments", MISTAKES[1:], ids=" ".join)
def test_a_mistake_is_one_error_and_one_hint_on_stderr(say, arguments):
    _, *said, end = say(arguments).splitlines()
    assert [line[:9] for line in said] == ["2> error:", "2> hint: "]
    assert end in ("= 1", "= 2")


def test_doctor_says_what_it_said(say, monkeypatch):
    left = {"name": "swappiness", "found": "60", "set": "7", "by": "nobody", "pid": 4711, "unread": None}
    monkeypatch.setattr(_engine, "left_knobs", lambda journal, root: json.dumps([left]))
    monkeypatch.setattr(_engine, "trace_fault", lambda: None)
    monkeypatch.setattr(_engine, "doctor", lambda root, spin, server: json.dumps(FINDINGS))
    fit = {"facts": {}, "findings": FINDINGS["findings"][1:2]}
    text = say(["doctor"])
    monkeypatch.setattr(_engine, "left_knobs", lambda journal, root: "[]")
    monkeypatch.setattr(_engine, "doctor", lambda root, spin, server: json.dumps(fit))
    check("cli_doctor.txt", text + "\n" + say(["doctor"]) + "\n" + say(["doctor", "--json"]))


def test_progress_of_a_log_is_what_it_was(monkeypatch):
    from hindmost import MeasurePlan
    from hindmost.cli.progress import Progress
    from hindmost.stats import PrecisionRule

    times = itertools.count(0.0, 12.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    out = io.StringIO()
    plan = MeasurePlan(target="memcached", runs=(3, 6), quantiles=(0.99,))
    shown = Progress(plan, quiet=False, out=out)
    rule = PrecisionRule(0.05, 3, 6, first_look=3, quantiles=("p99",))
    values: list[float] = []
    for number, value in enumerate([70.2, 69.1, 75.4, 70.0, 70.3, 69.9], 1):
        shown.run_begins(number, *plan.runs)
        values.append(value)
        figures = type("Figures", (), {"number": number, "values": {"latency": {"p99": value}}})
        shown.run_ended(figures, rule.decide({"p99": values}), None)
    check("cli_progress.txt", out.getvalue())
