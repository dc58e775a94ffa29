"""``hindmost colocate profile --probe`` and ``corun`` with a real memcached, pinned, under an open loop."""

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
from hindmost.commands.colocate import server
from hindmost.commands.colocate.processor import allowed_cpus
from hindmost.commands.colocate.server import ServerUnderLoad
from hindmost.commands.colocate.windows import WindowResult, WindowRunner
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import latency_from
from hindmost.core.targets.ports import pick_free_port
from hindmost.errors import TargetError

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="only one CPU"),
]
QUEUES = {"M/G/1", "regimes", "lighter: no more", "lighter: regimes"}


@pytest.fixture(scope="module")
def every_window_counts():
    """Accept every window, whatever the host does; tests/unit/test_colocate_profile.py covers the limits."""
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
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0, "the server still runs"


@pytest.fixture(scope="module")
def profile(every_window_counts, tmp_path_factory: pytest.TempPathFactory):
    """The profile of a memcached, as a file, and its port."""
    card, port = tmp_path_factory.mktemp("profiled") / "kv.json", pick_free_port("127.0.0.1")
    options = ["--probe", "2000", "--probe-address", f"memcached://127.0.0.1:{port}", "--stressors", "dram"]
    options += ["--window", "60ms", "--out", str(card), "--budget", "2s", "--name", "kv", "--json"]
    assert main(["colocate", "profile", " ".join(memcached(port)), *options]) == 0
    assert_refused_at(port)
    return card, port


@pytest.mark.nightly  # its windows need CPUs without interference
def test_a_server_is_profiled_under_load_and_ends_with_the_profile(profile):
    card = json.loads(profile[0].read_text())
    load, method = card["loaded"], card["method"]
    assert (method["unit"], method["real_time"]) == ("requests", False)
    assert 0 < load["p50_us"] <= load["p99_us"]
    assert 0 < load["busy"] <= 1
    rounds = method["windows"] / 4
    assert load["requests"] == pytest.approx(rounds * 3 * 0.06 * 2000, rel=0.5), "only requests of windows"
    grown = card["axes"][0]["latency"]["p99"]
    assert grown["low"] <= grown["value"] <= grown["high"]
    assert grown["windows"] <= rounds


@pytest.mark.nightly  # its windows need CPUs without interference
def test_a_server_is_measured_next_to_a_job_that_continues_and_one_that_ends(profile, capsys, tmp_path):
    kv = json.loads(profile[0].read_text())
    unloaded = {key: value for key, value in kv.items() if key != "loaded"}

    def job(name: str, *command: str) -> str:
        (tmp_path / f"{name}.json").write_text(json.dumps({**unloaded, "name": name, "command": command}))
        return str(tmp_path / f"{name}.json")

    jobs = [job("spin", sys.executable, "-c", "while True: pass"), job("brief", "sleep", "0.01")]
    out, page = tmp_path / "out.json", tmp_path / "page.html"
    options = ["--within", "900%", "--rates", "4k", "--out", str(out), "--page", str(page), "--budget", "3s"]
    assert main(["colocate", "predict", "--measure", str(profile[0]), *jobs, *options]) in (0, 3)
    text, document, html = capsys.readouterr().out, json.loads(out.read_text()), page.read_text()
    assert document["windows"] >= 2 * 4 * 4
    first, (heavier,) = document["loaded"], document["loads"]
    assert (first["requested_per_s"], heavier["loaded"]["requested_per_s"]) == (2000, 4000)
    assert min(first["load"], heavier["loaded"]["load"]) > 0
    assert [result["job"] for result in heavier["jobs"]] == ["spin", "brief"]
    for result in heavier["jobs"]:
        models = {prediction["model"] for prediction in result["predicted"]}
        assert models >= QUEUES
    assert {score["model"] for score in heavier["scores"]} == models
    for result in document["jobs"]:
        assert result["latency"]["p99"]["windows"] >= 2
        assert [prediction["model"] for prediction in result["predicted"]][:1] == ["zero"]
        assert result["job"] in text
        assert result["promise"] in text
        assert result["job"] in html
    assert "<script" not in html
    assert document["placement"] in ("siblings", "near", "far", "unknown")
    assert document["placement"] in text
    assert document["placement"] in html
    assert_refused_at(profile[1])


def probes() -> list[Path]:
    tasks = Path("/proc/self/task").iterdir()
    return [task for task in tasks if (task / "comm").read_text().strip() == "probe"]


def test_only_windows_are_probed_and_the_server_is_on_its_cpu(port):
    with under_load(memcached(port), port) as load:
        pid = load._program.pid
        assert os.sched_getaffinity(pid) == {allowed_cpus()[-1]}
        assert load.count("") == (0, 0), "requests before the first window do not count"
        assert not probes(), "no probe runs between windows"
        before = load._program.cpu_time.ns()
        load.resume()
        assert len(probes()) == 1
        load.run_window(0.2)
        load.pause()
        answered, cpu_ns = load.count("")
        assert load.probe_result is not None
        assert load.probe_result.requests == pytest.approx(200, rel=0.5)
        # Requests that wait at the end were sent, but not answered.
        assert 50 < answered <= load.probe_result.requests - load.probe_result.failed
        assert 0 < cpu_ns <= load._program.cpu_time.ns() - before, "only CPU time of the window counts"
        assert load.probe_result.busy == pytest.approx(cpu_ns / 0.2e9)
    assert process_state(pid) == "X"


def test_a_server_that_cannot_be_probed_is_reported_and_ended(port, monkeypatch):
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


def test_a_window_in_which_the_server_is_stopped_has_no_rate(port, monkeypatch):
    with under_load(memcached(port), port) as load:
        stand = WindowRunner(load, (allowed_cpus()[-1], allowed_cpus()[0]), {}, real_time=False)
        assert stand.window("alone", 100.0).program is not None
        group, resume, pause = load._program.pid, load.resume, load.pause

        def resume_and_stop() -> None:
            resume()
            os.killpg(group, signal.SIGSTOP)
            assert load._windows is not None
            load._windows.begin()  # a request that was answered before the stop does not count

        def continue_and_pause() -> None:
            os.killpg(group, signal.SIGCONT)
            pause()

        monkeypatch.setattr(load, "resume", resume_and_stop)
        monkeypatch.setattr(load, "pause", continue_and_pause)
        before, _ = load.count("")
        window = stand.window("alone", 100.0)
        answered, _ = load.count("")
        assert load.probe_result is not None
        assert load.probe_result.requests > 50
        assert answered - before < load.probe_result.requests / 2, "waiting requests are not answered"
        assert load.probe_result.p50_us > 20_000, "their latency counts from their schedule"
        assert window.lost is not None
        assert window.program is window.probe_result is None
