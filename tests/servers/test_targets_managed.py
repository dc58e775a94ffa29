"""Real servers are started, identified and stopped; nothing is left behind, whatever happens to Hindmost."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from controlling import assert_gone, controller, wait_until
from measuring import REAL, need
from messages import raises

from hindmost.core.targets import ManagedServer, cpu_affinity, identify, load_target_file, local_owner
from hindmost.core.targets.spec import Stop
from hindmost.errors import TargetError

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
USUAL = ("memcached", "nginx")
"""A server with one process, and one with workers; the matrix of protocols covers all others."""


def servers() -> list[Any]:
    def marks(name: str) -> list[pytest.MarkDecorator]:
        return [getattr(pytest.mark, name), *([] if name in USUAL else [pytest.mark.nightly])]

    return [pytest.param(name, marks=marks(name)) for name in REAL]


@pytest.mark.parametrize("name", servers())
def test_a_preset_starts_is_identified_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    spec = need(name)
    cpu = min(os.sched_getaffinity(0))
    with ManagedServer(spec, cpus=[cpu], log=tmp_path / "server.log") as server:
        assert server.alive()
        assert server.exit_report() is None
        version = identify(server.address, spec.protocol, 5.0, path=spec.path, login=spec.login)
        assert version == server.server_version
        assert local_owner(server.address) == server.pid
        assert all(cpu_affinity(pid) == [cpu] for pid in server.pids())
        if os.geteuid() == 0:
            assert all(Path(f"/proc/{pid}").stat().st_uid != 0 for pid in server.pids())
        pids = [server.guard_pid, *server.pids()]
        folder = server.folder
        assert folder.is_dir()
        assert len(pids) >= (3 if name in ("nginx", "apache") else 2)
        with pytest.raises(RuntimeError):
            server.start()
    assert_gone(pids)
    assert not folder.exists()
    assert (tmp_path / "server.log").exists()
    report = server.exit_report()
    assert report is not None
    assert (report.expected, report.forced) == (True, False)
    assert report.status in ((-signal.SIGKILL,) if spec.stop.signal == "KILL" else (0, -spec.stop.number))
    assert server.stop() == report, "stopping twice changes nothing"
    assert not server.alive()


@pytest.mark.nginx
def test_kill_9_of_hindmost_leaves_nothing_of_a_real_server() -> None:
    with controller(need("nginx")) as (child, server):
        child.kill()
    assert_gone(server["pids"])
    wait_until(lambda: not Path(server["folder"]).exists(), "the temporary folder is still there")


@pytest.mark.nginx
def test_kill_9_of_the_guard_ends_server_and_workers() -> None:
    with ManagedServer(need("nginx")) as server:
        pids = server.pids()
        os.kill(server.guard_pid, signal.SIGKILL)
        wait_until(lambda: not server.alive(), "the end of the guard was not noticed")
    assert_gone(pids)


@pytest.mark.memcached
def test_a_frozen_server_is_stopped_and_one_that_dies_is_reported_with_its_status() -> None:
    spec = need("memcached").model_copy(update={"stop": Stop(timeout_s=3600.0)})
    with ManagedServer(spec) as server:
        os.kill(server.pid, signal.SIGSTOP)
    report = server.exit_report()
    assert report is not None
    assert not report.forced

    with ManagedServer(spec) as server:
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: not server.alive(), "its end was not noticed")
        report = server.exit_report()
        assert report is not None
        assert (report.status, report.expected) == (-signal.SIGKILL, False)
    assert server.exit_report() == report


@pytest.mark.redis
def test_a_target_with_the_wrong_protocol_fails_at_once() -> None:
    spec = need("redis").model_copy(update={"protocol": "memcached"})
    with raises(TargetError, "wrong-protocol", protocol="memcached"):
        ManagedServer(spec, ready_timeout_s=3600.0).start()


@pytest.mark.redis
def test_a_daemon_stopped_by_a_command_is_followed_and_ended() -> None:
    need("redis")
    if shutil.which("redis-cli") is None:
        pytest.skip("redis-cli is not installed (apt-get install redis-tools)")
    with ManagedServer(load_target_file(EXAMPLES / "redis-daemon.toml")) as server:
        wait_until(lambda: server.pid not in server.pids(), "it did not become a daemon")
        assert server.alive()
        assert identify(server.address, "redis", 5.0)
        pids = server.pids()
        assert local_owner(server.address) in pids
    assert_gone(pids)
    report = server.exit_report()
    assert report is not None
    assert not report.forced
