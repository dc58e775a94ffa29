"""``hindmost colocate supervise`` beside a real memcached: the verb as it is called."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from messages import assert_refused
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
EASY, IMPOSSIBLE = "p90<10s", "p90<1us"
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


def groups(pid: int) -> list[str]:
    return [path.name for path in hierarchy("cpu").top.glob(f"hindmost-job-{pid}*")]


def supervised(capsys, server, promise: str, *words: str) -> tuple[int, dict]:
    short = ["--promise", promise, "--window", "200ms", "--duration", "1s", "--json"]
    code = main(["colocate", "supervise", server[0], BURN, *short, *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.nightly  # an idle job gets nothing on a busy host
def test_a_job_beside_a_promise_that_is_easy_gets_more_after_quiet_windows(server, capsys, tmp_path):
    out = tmp_path / "windows.json"
    code, told = supervised(capsys, server, EASY, "--out", str(out))
    assert code == 0
    assert told["kept"] == len(told["windows"]) >= 3
    assert all(one["requests"] > 20 and one["percentile_us"] > 0 for one in told["windows"])
    given = [one["processors"] for one in told["windows"]]
    assert given[:2] == [1, min(2, told["processors"])], "one more after two quiet windows"
    assert "quiet-windows" in [one["why"] and one["why"]["code"] for one in told["windows"]]
    assert told["used_s"] > 0
    assert json.loads(out.read_text()) == told
    assert not groups(os.getpid())


@pytest.mark.nightly  # an idle job gets nothing on a busy host
def test_a_promise_that_nothing_can_keep_pauses_the_job_unless_it_was_given_processors(server, capsys):
    code, told = supervised(capsys, server, IMPOSSIBLE)
    assert (code, told["kept"]) == (3, 0)
    assert told["windows"][-1]["processors"] == 0
    assert any(one["why"] for one in told["windows"])
    code, told = supervised(capsys, server, IMPOSSIBLE, "--processors", "1")
    assert (code, told["kept"]) == (3, 0)
    assert {one["processors"] for one in told["windows"]} == {1}
    assert len(told["windows"]) >= 3
    assert told["used_s"] > 0


def test_what_cannot_be_supervised_is_refused_before_anything_is_started(server, capsys, tmp_path):
    flag = tmp_path / "started"
    job, easy = f"touch {flag}", ("--promise", "p90<1ms")
    for words, exit_code, code, fields in (
        ((server[0], job, "--promise", "errors<1%"), 2, "bad-value", {"option": "--promise"}),
        ((server[0], job, "--promise", "p99.9<1ms"), 2, "few-requests", {}),
        ((server[0], str(server[1].pid), *easy), 2, "job-contains-server", {}),
        ((server[0], "no-such-program", *easy), 2, "missing-program", {}),
        (("memcached://127.0.0.1:1", job, *easy), 1, "not-listening", {}),
    ):
        assert_refused(["colocate", "supervise", *words], capsys, exit_code, code, **fields)
    assert not flag.exists()


def test_a_job_that_fails_gives_its_exit_code(server, capsys):
    words = ["--promise", EASY, "--window", "200ms", "--json"]
    assert main(["colocate", "supervise", server[0], "sh -c 'exit 7'", *words]) == 7
    assert json.loads(capsys.readouterr().out)["job_exit"] == 7


@pytest.mark.parametrize("how", ["interrupted", "server-ended"])
def test_it_ends_with_the_server_and_an_interrupted_one_gives_its_account(server, journal, how):
    words = ["--promise", EASY, "--window", "200ms", "--verbose", "--json"]
    verb = [sys.executable, "-P", "-c", VERB, str(journal), "colocate", "supervise", server[0], BURN, *words]
    process = subprocess.Popen(verb, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()  # a window
    if how == "interrupted":
        process.send_signal(signal.SIGINT)
    else:
        server[1].kill()
        server[1].wait()
    out, err = process.communicate(timeout=60)
    document = json.loads(out)
    if how == "interrupted":
        assert process.returncode == 0, err
        assert document["windows"]
    else:
        assert process.returncode == 1, err
        assert document["code"] == "program-ended"
    assert not groups(process.pid)
