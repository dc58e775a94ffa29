"""``hindmost colocate supervise`` with a real memcached, from the command line."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from measuring import wait_for
from messages import assert_refused
from plain_memcached import plain_memcached
from profile_cards import card, write_card

from hindmost.cli import main
from hindmost.commands.colocate.documents.stored import load_supervised
from hindmost.commands.colocate.program import identify_command, identify_process
from hindmost.commands.colocate.supervision import procedure
from hindmost.core.knobs.kinds.cgroup import hierarchy, missing

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(missing() is not None, reason="no cgroup can be made here"),
]
BURN = f"{sys.executable} -c 'while True: pass'"
EASY, IMPOSSIBLE = "p90<10s", "p90<1us"
SHORT_BLOCKS = """
from hindmost.commands.colocate.supervision import learning
learning.BLOCK_S = 0.4
"""
VERB = """
import functools, pathlib, sys
from hindmost.cli import main
from hindmost.commands.colocate.supervision import procedure
procedure.SuperviseRequest = functools.partial(procedure.SuperviseRequest, journal=pathlib.Path(sys.argv.pop(1)))
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def journal(monkeypatch, tmp_path):
    """A separate journal: with the host's, this test and a diagnosis or another test would exclude each other."""
    own = functools.partial(procedure.SuperviseRequest, journal=tmp_path / "journal")
    monkeypatch.setattr(procedure, "SuperviseRequest", own)
    return tmp_path / "journal"


@pytest.fixture
def server():
    with plain_memcached() as address_and_process:
        yield address_and_process


def groups(pid: int) -> list[str]:
    return [path.name for path in hierarchy("cpu").top.glob(f"hindmost-job-{pid}*")]


def supervise(capsys, server, promise: str, *options: str) -> tuple[int, dict]:
    short = ["--promise", promise, "--window", "200ms", "--duration", "1s", "--json"]
    code = main(["colocate", "supervise", server[0], BURN, *short, *options])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.nightly  # an idle job gets nothing on a busy host
def test_a_job_next_to_an_easy_promise_gets_more_cpus_after_quiet_windows(server, capsys, tmp_path):
    out = tmp_path / "windows.json"
    code, document = supervise(capsys, server, EASY, "--out", str(out))
    assert code == 0
    assert document["kept"] == len(document["windows"]) >= 3
    assert all(window["requests"] > 20 and window["percentile_us"] > 0 for window in document["windows"])
    cpus = [window["processors"] for window in document["windows"]]
    assert cpus[:2] == [1, min(2, document["processors"])], "one more after two quiet windows"
    assert "quiet-windows" in [window["why"] and window["why"]["code"] for window in document["windows"]]
    assert document["used_s"] > 0
    assert json.loads(out.read_text()) == document
    assert not groups(os.getpid())


@pytest.mark.nightly  # an idle job gets nothing on a busy host
def test_an_impossible_promise_pauses_the_job_unless_it_has_fixed_cpus(server, capsys):
    code, document = supervise(capsys, server, IMPOSSIBLE)
    assert (code, document["kept"]) == (3, 0)
    assert document["windows"][-1]["processors"] == 0
    assert any(window["why"] for window in document["windows"])
    code, document = supervise(capsys, server, IMPOSSIBLE, "--processors", "1")
    assert (code, document["kept"]) == (3, 0)
    assert {window["processors"] for window in document["windows"]} == {1}
    assert len(document["windows"]) >= 3
    assert document["used_s"] > 0


def test_what_a_supervision_observed_is_kept_next_to_the_profile(server, capsys, tmp_path):
    profile = write_card(tmp_path, card("kv"))
    code, document = supervise(capsys, server, EASY, "--learn", profile, "--name", "burn")
    assert code == 0
    assert document["learned"] == str(tmp_path / "kv.supervised.jsonl")
    (block,), unreadable = load_supervised(Path(profile))
    assert (block.server, block.job, unreadable) == ("kv", "burn", 0)
    assert (block.windows, block.broken) == (len(document["windows"]), 0)
    assert block.processors == document["processors"]
    assert (block.percentile, block.limit_us, block.window_s) == (90.0, 1e7, 0.2)
    assert block.server_program == identify_process(server[1].pid)
    assert block.job_program == identify_command([sys.executable])
    assert block.load is not None
    assert 0 <= block.load <= 1
    assert block.latency is not None


def test_a_killed_supervision_leaves_whole_lines(server, journal, tmp_path):
    profile = write_card(tmp_path, card("kv"))
    arguments = ["--promise", EASY, "--window", "200ms", "--learn", profile]
    words = [str(journal), "colocate", "supervise", server[0], BURN, *arguments]
    process = subprocess.Popen([sys.executable, "-P", "-c", SHORT_BLOCKS + VERB, *words])
    path = tmp_path / "kv.supervised.jsonl"
    wait_for(lambda: path.exists() and path.read_text().count("\n") >= 2, "two blocks", 60)
    process.kill()
    process.wait()
    found = load_supervised(Path(profile))
    assert len(found.blocks) >= 2
    assert found.unreadable == 0
    assert {block.windows for block in found.blocks} == {2}
    wait_for(lambda: not groups(process.pid), "the end of the job's group", 60)


def test_a_job_that_cannot_be_supervised_is_refused_before_it_starts(server, capsys, tmp_path):
    flag = tmp_path / "started"
    job, easy = f"touch {flag}", ("--promise", "p90<1ms")
    for arguments, exit_code, code, fields in (
        ((server[0], job, "--promise", "errors<1%"), 2, "bad-value", {"option": "--promise"}),
        ((server[0], job, "--promise", "p99.9<1ms"), 2, "few-requests", {}),
        ((server[0], str(server[1].pid), *easy), 2, "job-contains-server", {}),
        ((server[0], "no-such-program", *easy), 2, "missing-program", {}),
        (("memcached://127.0.0.1:1", job, *easy), 1, "not-listening", {}),
    ):
        assert_refused(["colocate", "supervise", *arguments], capsys, exit_code, code, **fields)
    assert not flag.exists()


def test_a_job_that_fails_gives_its_exit_code(server, capsys):
    arguments = ["--promise", EASY, "--window", "200ms", "--json"]
    assert main(["colocate", "supervise", server[0], "sh -c 'exit 7'", *arguments]) == 7
    assert json.loads(capsys.readouterr().out)["job_exit"] == 7


@pytest.mark.parametrize("end", ["interrupted", "server-ended"])
def test_supervision_ends_with_the_server_and_an_interrupted_one_reports_its_windows(server, journal, end):
    arguments = ["--promise", EASY, "--window", "200ms", "--verbose", "--json"]
    verb = [
        sys.executable,
        "-P",
        "-c",
        VERB,
        str(journal),
        "colocate",
        "supervise",
        server[0],
        BURN,
        *arguments,
    ]
    process = subprocess.Popen(verb, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()  # a window
    if end == "interrupted":
        process.send_signal(signal.SIGINT)
    else:
        server[1].kill()
        server[1].wait()
    out, err = process.communicate(timeout=60)
    document = json.loads(out)
    if end == "interrupted":
        assert process.returncode == 0, err
        assert document["windows"]
    else:
        assert process.returncode == 1, err
        assert document["code"] == "program-ended"
    assert not groups(process.pid)
