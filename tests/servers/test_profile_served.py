"""``hindmost colocate profile --probe``: a real memcached, started, pinned and asked by an open loop."""

import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import pytest
from plain_memcached import plain_memcached

from hindmost.cli import main
from hindmost.errors import TargetError
from hindmost.studies.colocation import served
from hindmost.studies.colocation.processor import allowed
from hindmost.studies.colocation.served import Served
from hindmost.studies.colocation.windows import Stand
from hindmost.targets.ports import pick_free_port
from hindmost.watch import Application, latency_from

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only"),
]


@pytest.fixture
def port():
    return pick_free_port("127.0.0.1")


def memcached(port: int) -> list[str]:
    return ["memcached", "-u", "nobody", "-t", "1", "-l", "127.0.0.1", "-p", str(port)]


def under_load(command: list[str], port: int, rate: str = "1000") -> Served:
    source = latency_from(Application("", None), probe=rate, address=f"memcached://127.0.0.1:{port}")
    assert source is not None
    cpus = allowed()
    return Served(command, cpus[-1], source, cpus[0])


def probes() -> list[Path]:
    return [one for one in Path("/proc/self/task").iterdir() if (one / "comm").read_text().strip() == "probe"]


def test_a_server_is_profiled_under_load_and_ends_with_it(port, capsys, tmp_path: Path):
    out = tmp_path / "card.json"
    words = ["--probe", "2000", "--probe-address", f"memcached://127.0.0.1:{port}", "--rulers", "dram"]
    words += ["--window", "60ms", "--out", str(out)]
    for budget in ("2s", "15s"):  # a busy host spoils windows: then it takes more of them
        out.unlink(missing_ok=True)
        done = main(["colocate", "profile", " ".join(memcached(port)), *words, "--budget", budget])
        told = capsys.readouterr().out
        if done == 0 and (card := json.loads(out.read_text()))["axes"][0]["latency"]["p99"]:
            break
    assert done == 0
    loaded = card["loaded"]
    assert card["method"]["unit"] == "requests"
    assert not card["method"]["real_time"]
    assert 0 < loaded["p50_us"] <= loaded["p99_us"]
    assert 0 < loaded["busy"] <= 1
    rounds = card["method"]["windows"] / 4
    assert loaded["requests"] == pytest.approx(rounds * 3 * 0.06 * 2000, rel=0.5), "a window's, and no more"
    grown = card["axes"][0]["latency"]["p99"]
    assert grown["low"] <= grown["value"] <= grown["high"]
    assert grown["windows"] <= rounds
    assert f"p99 {loaded['p99_us']:.0f}"[:5] in told
    assert "beside a server" in told
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), 1.0)


def test_only_windows_are_asked_and_the_server_is_on_its_processor(port):
    with under_load(memcached(port), port) as one:
        pid = one._launched.pid
        assert os.sched_getaffinity(pid) == {allowed()[-1]}
        assert one.count("") == (0, 0), "what was asked before the first window is none of it"
        assert not probes(), "nobody asks between windows"
        before = one._launched.cpu_time.ns()
        one.resume()
        assert len(probes()) == 1
        one.last(0.2)
        one.pause()
        answered, used = one.count("")
        assert one.asked is not None
        assert one.asked.requests == pytest.approx(200, rel=0.5)
        # What still waits at the end was asked, and is not answered.
        assert 50 < answered <= one.asked.requests - one.asked.failed
        assert 0 < used <= one._launched.cpu_time.ns() - before, "nothing from before the window"
        assert one.asked.busy == pytest.approx(used / 0.2e9)
    assert not Path(f"/proc/{pid}").exists()


def test_what_cannot_be_asked_is_told_and_nothing_is_left(port, monkeypatch):
    with pytest.raises(TargetError, match="exit code 3 before it answered"):
        under_load([sys.executable, "-c", "raise SystemExit(3)"], port).__enter__()
    monkeypatch.setattr(served, "_FIRST_ANSWER_S", 0.2)
    mute = under_load(["sleep", "60"], port)
    with pytest.raises(TargetError, match=r"no answer in 0\.2 s: .*refused") as refused:
        mute.__enter__()
    assert "--probe-address" in str(refused.value.hint)
    assert mute._launched.ended() == "it was ended by SIGKILL"
    with plain_memcached() as (address, _), pytest.raises(TargetError, match="before memcached is started"):
        under_load(memcached(port), int(address.rpartition(":")[2]))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--probe", "1000"], "go together"),
        (["--probe", "1000", "--probe-address", "memcached://127.0.0.1:1", "--work", "cpu"], "unit of work"),
        (["--probe", "0", "--probe-address", "memcached://127.0.0.1:1"], "asks nothing"),
        (
            ["--probe", "1000", "--probe-address", "memcached://127.0.0.1:1", "--window", "90ms"],
            "90 requests of the probe: its p99 needs 100",
        ),
    ],
)
def test_options_that_make_no_load_are_refused(words, told, capsys):
    assert main(["colocate", "profile", "sleep 60", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_window_in_which_the_server_stands_still_has_no_rate(port, monkeypatch):
    with under_load(memcached(port), port) as one:
        stand = Stand(one, (allowed()[-1], allowed()[0]), {}, real_time=False)
        assert stand.window("alone", 100.0).program is not None
        group, resume, pause = one._launched.pid, one.resume, one.pause

        def stopped() -> None:
            resume()
            os.killpg(group, signal.SIGSTOP)

        def goes_on() -> None:
            os.killpg(group, signal.SIGCONT)
            pause()

        monkeypatch.setattr(one, "resume", stopped)
        monkeypatch.setattr(one, "pause", goes_on)
        before, _ = one.count("")
        seen = stand.window("alone", 100.0)
        answered, _ = one.count("")
        assert answered - before < 20, "what still waits is not answered"
        assert one.asked is not None
        assert one.asked.requests > 50
        assert one.asked.p50_us > 20_000, "and has waited since it was due"
        assert seen.lost is not None
        assert seen.program is seen.asked is None
