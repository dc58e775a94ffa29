"""``hindmost colocate supervise`` beside a real memcached: the verb as it is called."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from plain_memcached import plain_memcached

from hindmost.cli import main
from hindmost.knobs.kinds.cgroup import hierarchy, missing
from hindmost.studies.colocation.supervision import procedure

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(missing() is not None, reason="no control group can be made here"),
]
BURN = f"{sys.executable} -c 'while True: pass'"


VERB = """
import functools, pathlib, sys
from hindmost.cli import main
from hindmost.studies.colocation.supervision import procedure
procedure.SuperviseRequest = functools.partial(procedure.SuperviseRequest, journal=pathlib.Path(sys.argv.pop(1)))
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def journal(monkeypatch, tmp_path):
    """A journal of its own: on the host's, a diagnosis or another test would be refused, and refuse us."""
    own = functools.partial(procedure.SuperviseRequest, journal=tmp_path / "journal")
    monkeypatch.setattr(procedure, "SuperviseRequest", own)
    return tmp_path / "journal"


@pytest.fixture
def server():
    with plain_memcached() as started:
        yield started


def groups() -> set[str]:
    return {path.name for path in hierarchy("cpu").top.glob("hindmost-job-*")}


def test_a_job_runs_beside_a_server_whose_promise_is_easy(server, capsys, tmp_path):
    words = ["--promise", "p90<10s", "--window", "300ms", "--duration", "1500ms", "--json"]
    out = tmp_path / "windows.json"
    code = main(["colocate", "supervise", server[0], BURN, *words, "--out", str(out)])
    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert told["kept"] == len(told["windows"]) >= 3
    assert all(one["requests"] > 30 and one["percentile_us"] > 0 for one in told["windows"])
    given = [one["processors"] for one in told["windows"]]
    assert given[:2] == [1, min(2, told["processors"])], "one more after two quiet windows"
    assert told["used_s"] > 0
    assert json.loads(out.read_text()) == told
    assert f"hindmost-job-{os.getpid()}" not in " ".join(groups())


@pytest.mark.parametrize("promise", ["p90<10s", "p90<1us"], ids=["kept", "broken"])
def test_a_job_that_is_given_processors_keeps_them_whatever_becomes_of_the_promise(promise, server, capsys):
    words = ["--promise", promise, "--window", "200ms", "--duration", "1s", "--processors", "1", "--json"]
    assert main(["colocate", "supervise", server[0], BURN, *words]) == (0 if promise == "p90<10s" else 3)
    told = json.loads(capsys.readouterr().out)
    assert {one["processors"] for one in told["windows"]} == {1}
    assert len(told["windows"]) >= 3
    assert told["used_s"] > 0


def test_a_promise_that_nothing_can_keep_pauses_the_job_and_says_that_it_is_not_to_blame(server, capsys):
    words = ["--promise", "p90<1us", "--window", "300ms", "--duration", "1500ms"]
    assert main(["colocate", "supervise", server[0], BURN, *words]) == 3
    told = capsys.readouterr().out
    assert "in 0 of" in told
    assert "the job was paused: the server broke the promise without it" in told


def test_what_cannot_be_supervised_is_refused_before_anything_is_started(server, capsys, tmp_path):
    def refused(*words: str) -> str:
        assert main(["colocate", "supervise", *words]) in (1, 2, 4, 5)
        return capsys.readouterr().err

    flag = tmp_path / "started"
    job = f"touch {flag}"
    assert "not a limit on a percentile" in refused(server[0], job, "--promise", "errors<1%")
    assert "--probe" in refused(server[0], job, "--promise", "p99.9<1ms")
    assert "contains the server" in refused(server[0], str(server[1].pid), "--promise", "p90<1ms")
    assert "no program" in refused(server[0], "no-such-program", "--promise", "p90<1ms")
    assert "nobody" in refused("memcached://127.0.0.1:1", job, "--promise", "p90<1ms")
    assert not flag.exists()


def test_it_ends_with_the_server_and_an_interrupted_one_gives_its_account(server, journal):
    words = [
        "colocate",
        "supervise",
        server[0],
        BURN,
        "--promise",
        "p90<10s",
        "--window",
        "200ms",
        "--verbose",
    ]
    for interrupted in (True, False):
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                VERB,
                str(journal),
                *words,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT) if interrupted else server[1].kill()
        if not interrupted:
            server[1].wait()
        out, err = process.communicate(timeout=60)
        if interrupted:
            assert process.returncode == 0, err
            assert "interrupted after" in out
        else:
            assert process.returncode not in (0, 3)
            assert "has ended: there is nothing to protect" in err
        assert f"hindmost-job-{process.pid}" not in " ".join(groups())
