"""``hindmost colocate profile --probe`` and ``corun``: a real memcached, pinned, and asked by an open loop."""

import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import pytest
from measuring import process_state
from messages import raises
from plain_memcached import plain_memcached

from hindmost.cli import main
from hindmost.errors import TargetError
from hindmost.studies.colocation import server
from hindmost.studies.colocation.processor import allowed_cpus
from hindmost.studies.colocation.server import ServerUnderLoad
from hindmost.studies.colocation.windows import WindowResult, WindowRunner
from hindmost.targets.ports import pick_free_port
from hindmost.watch import Application, latency_from

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only"),
]
QUEUES = {"M/G/1", "regimes", "lighter: no more", "lighter: regimes"}


@pytest.fixture(scope="module")
def every_window_counts():
    """Whatever else the host does: how much of that a window may have is shown in tests/unit/test_colocate_profile.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WindowResult, "is_usable", property(lambda _: True))
        yield


@pytest.fixture
def port():
    return pick_free_port("127.0.0.1")


def memcached(port: int) -> list[str]:
    return ["memcached", "-u", "nobody", "-t", "1", "-l", "127.0.0.1", "-p", str(port)]


def under_load(command: list[str], port: int, rate: str = "1000") -> ServerUnderLoad:
    source = latency_from(Application("", None), probe=rate, address=f"memcached://127.0.0.1:{port}")
    assert source is not None
    cpus = allowed_cpus()
    return ServerUnderLoad(command, cpus[-1], source, cpus[0])


def assert_refused_at(port: int) -> None:
    with socket.socket() as one:
        assert one.connect_ex(("127.0.0.1", port)) != 0, "the server is left"


@pytest.fixture(scope="module")
def profiled(every_window_counts, tmp_path_factory: pytest.TempPathFactory):
    """The card of a memcached, as a file, and its port."""
    card, port = tmp_path_factory.mktemp("profiled") / "kv.json", pick_free_port("127.0.0.1")
    words = ["--probe", "2000", "--probe-address", f"memcached://127.0.0.1:{port}", "--stressors", "dram"]
    words += ["--window", "60ms", "--out", str(card), "--budget", "2s", "--name", "kv", "--json"]
    assert main(["colocate", "profile", " ".join(memcached(port)), *words]) == 0
    assert_refused_at(port)
    return card, port


@pytest.mark.nightly  # its windows need processors that others leave alone
def test_a_server_is_profiled_under_load_and_ends_with_it(profiled):
    card = json.loads(profiled[0].read_text())
    loaded, method = card["loaded"], card["method"]
    assert (method["unit"], method["real_time"]) == ("requests", False)
    assert 0 < loaded["p50_us"] <= loaded["p99_us"]
    assert 0 < loaded["busy"] <= 1
    rounds = method["windows"] / 4
    assert loaded["requests"] == pytest.approx(rounds * 3 * 0.06 * 2000, rel=0.5), "a window's, and no more"
    grown = card["axes"][0]["latency"]["p99"]
    assert grown["low"] <= grown["value"] <= grown["high"]
    assert grown["windows"] <= rounds


@pytest.mark.nightly  # its windows need processors that others leave alone
def test_a_server_is_measured_beside_a_job_that_goes_on_and_one_that_ends(profiled, capsys, tmp_path):
    kv = json.loads(profiled[0].read_text())

    def job(name: str, *command: str) -> str:
        (tmp_path / f"{name}.json").write_text(
            json.dumps({**kv, "name": name, "command": command, "loaded": None})
        )
        return str(tmp_path / f"{name}.json")

    jobs = [job("spin", sys.executable, "-c", "while True: pass"), job("brief", "sleep", "0.01")]
    out, page = tmp_path / "out.json", tmp_path / "page.html"
    words = ["--within", "900%", "--rates", "4k", "--out", str(out), "--page", str(page), "--budget", "3s"]
    assert main(["colocate", "predict", "--measure", str(profiled[0]), *jobs, *words]) in (0, 3)
    told, found, html = capsys.readouterr().out, json.loads(out.read_text()), page.read_text()
    assert found["windows"] >= 2 * 4 * 4
    first, (heavier,) = found["loaded"], found["loads"]
    assert (first["requested_per_s"], heavier["loaded"]["requested_per_s"]) == (2000, 4000)
    assert min(first["load"], heavier["loaded"]["load"]) > 0
    assert [one["job"] for one in heavier["jobs"]] == ["spin", "brief"]
    for one in heavier["jobs"]:
        models = {guess["model"] for guess in one["predicted"]}
        assert models >= QUEUES
    assert {score["model"] for score in heavier["scores"]} == models
    for one in found["jobs"]:
        assert one["latency"]["p99"]["windows"] >= 2
        assert [guess["model"] for guess in one["predicted"]][:1] == ["zero"]
        assert one["job"] in told
        assert one["promise"] in told
        assert one["job"] in html
    assert "<script" not in html
    assert found["placement"] in ("siblings", "near", "far", "unknown")
    assert found["placement"] in told
    assert found["placement"] in html
    assert_refused_at(profiled[1])


def probes() -> list[Path]:
    return [one for one in Path("/proc/self/task").iterdir() if (one / "comm").read_text().strip() == "probe"]


def test_only_windows_are_asked_and_the_server_is_on_its_processor(port):
    with under_load(memcached(port), port) as one:
        pid = one._program.pid
        assert os.sched_getaffinity(pid) == {allowed_cpus()[-1]}
        assert one.count("") == (0, 0), "what was asked before the first window is none of it"
        assert not probes(), "nobody asks between windows"
        before = one._program.cpu_time.ns()
        one.resume()
        assert len(probes()) == 1
        one.run_window(0.2)
        one.pause()
        answered, used = one.count("")
        assert one.probe_result is not None
        assert one.probe_result.requests == pytest.approx(200, rel=0.5)
        # What still waits at the end was asked, and is not answered.
        assert 50 < answered <= one.probe_result.requests - one.probe_result.failed
        assert 0 < used <= one._program.cpu_time.ns() - before, "nothing from before the window"
        assert one.probe_result.busy == pytest.approx(used / 0.2e9)
    assert process_state(pid) == "X"


def test_what_cannot_be_asked_is_told_and_nothing_is_left(port, monkeypatch):
    with raises(TargetError, "program-ended", exit_status=3):
        under_load([sys.executable, "-c", "raise SystemExit(3)"], port).__enter__()
    monkeypatch.setattr(server, "_FIRST_ANSWER_S", 0.2)
    mute = under_load(["sleep", "60"], port)
    with raises(TargetError, "no-answer"):
        mute.__enter__()
    ending = mute._program.ending()
    assert ending is not None
    assert ending.fields == {"signal": "SIGKILL"}
    with plain_memcached() as (address, _), raises(TargetError, "address-in-use"):
        under_load(memcached(port), int(address.rpartition(":")[2]))


def test_a_window_in_which_the_server_stands_still_has_no_rate(port, monkeypatch):
    with under_load(memcached(port), port) as one:
        stand = WindowRunner(one, (allowed_cpus()[-1], allowed_cpus()[0]), {}, real_time=False)
        assert stand.window("alone", 100.0).program is not None
        group, resume, pause = one._program.pid, one.resume, one.pause

        def stopped() -> None:
            resume()
            os.killpg(group, signal.SIGSTOP)
            assert one._windows is not None
            one._windows.begin()  # a request that was answered before the stop does not count

        def goes_on() -> None:
            os.killpg(group, signal.SIGCONT)
            pause()

        monkeypatch.setattr(one, "resume", stopped)
        monkeypatch.setattr(one, "pause", goes_on)
        before, _ = one.count("")
        seen = stand.window("alone", 100.0)
        answered, _ = one.count("")
        assert one.probe_result is not None
        assert one.probe_result.requests > 50
        assert answered - before < one.probe_result.requests / 2, "what still waits is not answered"
        assert one.probe_result.p50_us > 20_000, "and has waited since it was due"
        assert seen.lost is not None
        assert seen.program is seen.probe_result is None
