"""``hindmost colocate corun``: a real memcached under load beside real jobs."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from hindmost import _engine
from hindmost.cli import main
from hindmost.errors import TargetError
from hindmost.studies.colocation.corunner import CoRunner
from hindmost.studies.colocation.processor import allowed, processor
from hindmost.targets.ports import pick_free_port

pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only"),
]
SPIN = [sys.executable, "-c", "while True: pass"]


def share(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.01, "high": value + 0.01, "windows": 5}


def card(name: str, command: list[str], **more: object) -> dict:
    axis = {"ruler": "l3", "sensitivity": share(0.1), "contentiousness": share(0.3)}
    axis["latency"] = {"p50": share(0.1), "p99": share(0.2)}
    method = {"unit": "requests", "window_ms": 60.0, "windows": 40, "dropped": 0, "real_time": False}
    found = {"schema": "hindmost.profile/1", "name": name, "command": command, "processor": processor()}
    found |= {"placement": "near", "rate_per_s": 30000.0, "spread": 0.1, "presence": None, "axes": [axis]}
    return found | {"noise": 0.1, "method": method | {"seed": 1, "took_s": 8.0}, "notes": []} | more


@pytest.fixture
def written(tmp_path: Path):
    port = pick_free_port("127.0.0.1")
    loaded = {"address": f"memcached://127.0.0.1:{port}", "asked_per_s": 2000.0, "busy": 0.1}
    command = ["memcached", "-u", "nobody", "-t", "1", "-l", "127.0.0.1", "-p", str(port)]

    def write(one: dict) -> str:
        path = tmp_path / f"{one['name']}.json"
        path.write_text(json.dumps(one), encoding="utf-8")
        return str(path)

    return write, write(card("kv", command, loaded=loaded))


QUEUES = {"M/G/1", "regimes", "lighter: no more", "lighter: regimes"}


def all_is_told(found: dict) -> bool:
    """Whether windows enough could be used for every figure, and what was asked more often was answered more often."""
    (heavier,) = found["loads"]
    if heavier["loaded"]["requests"] <= 1.4 * found["loaded"]["requests"]:
        return False
    models = [{guess["model"] for guess in one["predicted"]} for one in heavier["jobs"]]
    return all(each >= QUEUES for each in models) and all(one["latency"]["p99"] for one in found["jobs"])


def test_a_server_is_measured_beside_a_job_that_goes_on_and_one_that_ends(written, capsys, tmp_path: Path):
    write, server = written
    jobs = [write(card("spin", SPIN)), write(card("brief", ["sleep", "0.01"]))]
    files = ["--out", str(tmp_path / "out.json"), "--page", str(tmp_path / "page.html")]
    asked = ["--within", "900%", "--rates", "4k"]
    for budget in ("3s", "20s", "40s"):  # a busy host spoils windows: then it takes more of them
        (tmp_path / "out.json").unlink(missing_ok=True)
        done = main(["colocate", "corun", server, *jobs, *asked, *files, "--budget", budget])
        told = capsys.readouterr().out
        if done != 4 and all_is_told(found := json.loads((tmp_path / "out.json").read_text())):
            break
    assert done in (0, 3)
    page = (tmp_path / "page.html").read_text()
    assert found["windows"] >= 4 * 4
    first, (heavier,) = found["loaded"], found["loads"]
    assert first["requests"] == pytest.approx(found["windows"] / 2 * 120, rel=0.5)
    assert (first["asked_per_s"], heavier["loaded"]["asked_per_s"]) == (2000, 4000)
    assert heavier["loaded"]["requests"] > 1.4 * first["requests"]
    assert min(first["load"], heavier["loaded"]["load"]) > 0
    assert [one["job"] for one in heavier["jobs"]] == ["spin", "brief"]
    for one in heavier["jobs"]:
        models = {guess["model"] for guess in one["predicted"]}
        assert models >= QUEUES
    assert {score["model"] for score in heavier["scores"]} == models
    assert "asked 4000 times a second" in told
    assert "Asked 4" in page
    for one in found["jobs"]:
        assert one["latency"]["p99"]["windows"] >= 2
        assert [guess["model"] for guess in one["predicted"]][:1] == ["zero"]
        assert f"beside {one['job']}: p99 within 900%: {one['promise']}" in told
        assert one["job"] in page
    assert "<script" not in page
    place = found["placement"]
    assert place in ("siblings", "near", "far", "unknown")
    assert f"jobs ran {place}" in told
    assert f"jobs ran {place}" in page


def test_a_job_works_in_windows_only_and_again_where_it_ends(tmp_path: Path):
    runs = tmp_path / "runs"
    with CoRunner(["sh", "-c", f"echo run >> {runs}; exec sleep 0.02"], allowed()[0]) as one:
        pid = one._launched.pid

        def window(ms: int) -> int:
            begun = _engine.monotonic_ns() + 10**6
            told = json.loads(one.run(json.dumps({"start_ns": begun, "duration_ns": ms * 10**6})))
            assert _engine.monotonic_ns() - begun >= ms * 10**6
            one.check()
            used.append(told["cpu_ns"])
            return len(runs.read_text().splitlines()) if runs.exists() else 0

        def until(least: int) -> int:
            end, found = time.monotonic() + 20, 0
            while found < least and time.monotonic() < end:
                found = window(200)
            return found

        used: list[int] = []
        assert until(2) >= 2, "it ends, and begins again"
        time.sleep(0.1)
        still = len(runs.read_text().splitlines())
        time.sleep(0.3)
        assert len(runs.read_text().splitlines()) == still, "it stands still between windows"
        assert until(still + 1) > still
        assert sum(used) > 0
    assert not Path(f"/proc/{pid}").exists()
    with CoRunner(["sh", "-c", "exit 3"], allowed()[0]) as failing:
        end = time.monotonic() + 20
        while failing._launched.ended() is None and time.monotonic() < end:
            failing.run(json.dumps({"start_ns": _engine.monotonic_ns(), "duration_ns": 10**8}))
        with pytest.raises(TargetError, match="exit code 3 beside the server"):
            failing.check()


def test_cards_that_tell_no_latency_or_one_name_twice_or_another_machine_are_refused(written, capsys):
    write, server = written
    job = write(card("spin", SPIN))

    def refused(*words: str) -> str:
        assert main(["colocate", "corun", *words]) == 2
        return capsys.readouterr().err

    assert "tells no latency" in refused(job, job)
    assert "two cards are named 'spin'" in refused(server, job, job)
    assert "no job was named" in refused(server)
    assert "further loads are heavier ones, up to 10,000" in refused(server, job, "--rates", "1k")
    other = {"vendor": "GenuineIntel", "family": 6, "model": 1, "name": "Other"}
    assert "different processors" in refused(server, write(card("far", SPIN, processor=other)))
