"""Knobs on real servers are set, are visible in the kernel, and are restored."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from measuring import need_two_cpus, wait_for
from messages import raises

from hindmost.core.knobs import Knob, kind_of, knob_of
from hindmost.core.knobs.kinds import cgroup, cpu_dma_latency
from hindmost.core.knobs.kinds import schedule as schedules
from hindmost.core.knobs.kinds import socket as sockets
from hindmost.core.knobs.tasks import tasks
from hindmost.core.targets import Managed, ManagedServer, cpu_seconds, parse_target, process_tree
from hindmost.errors import HostUnfit, TargetError

pytestmark = pytest.mark.memcached


def parse_installed(name: str, program: str) -> Managed:
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip(f"{program} is not installed")
    target = parse_target(name)
    assert isinstance(target, Managed)
    return target


@pytest.fixture
def memcached() -> Managed:
    return parse_installed("memcached", "memcached")


def make_knob(target: Managed, journal: Path, **table: object) -> Knob:
    return knob_of(kind_of(table), table, target, journal)


def read_threads(server: ManagedServer, read: Callable[[int], object]) -> dict[int, object]:
    return {task.tid: read(task.tid) for task in tasks(server)}


def test_a_start_is_changed_by_options_arguments_variables_and_cpus(memcached, tmp_path) -> None:
    first = min(os.sched_getaffinity(0))
    factors = [
        ({"option": "threads"}, "3"),
        ({"argument": "-o no_lru_maintainer"}, "on"),
        ({"env": "HINDMOST_TEST"}, "here"),
        ({"cpus": True}, str(first)),
    ]
    spec = memcached.spec
    knobs = [(make_knob(memcached, tmp_path, **table), level) for table, level in factors]
    for knob, level in knobs:
        knob.check(level)
        spec = knob.spec(spec, level)
    with ManagedServer(spec) as server:
        for knob, level in knobs:
            with knob.on_server(level, server):
                pass
        arguments = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
        assert arguments[arguments.index("-t") + 1] == "3"
        assert arguments[-3:] == ["-o", "no_lru_maintainer", ""]
        assert "HINDMOST_TEST=here" in Path(f"/proc/{server.pid}/environ").read_text().split("\0")
        assert os.sched_getaffinity(server.pid) == {first}


@pytest.mark.nginx
def test_each_process_of_a_server_is_pinned_to_one_cpu(tmp_path) -> None:
    first, second = need_two_cpus()
    nginx = parse_installed("nginx", "nginx")
    spec = make_knob(nginx, tmp_path, option="threads").spec(nginx.spec, "2")
    with (
        ManagedServer(spec, cpus=[first, second]) as server,
        make_knob(nginx, tmp_path, pinning=True).on_server("process", server),
    ):
        affinities = [os.sched_getaffinity(pid) for pid in sorted(server.pids())]
        assert affinities == [{first} if place % 2 == 0 else {second} for place in range(len(affinities))]
        assert len(affinities) == 3


def test_every_thread_is_scheduled_by_the_level_and_then_as_before(memcached, tmp_path) -> None:
    knob, count = make_knob(memcached, tmp_path, schedule=True), 0
    with ManagedServer(memcached.spec) as server:
        before = read_threads(server, schedules.read)
        assert len(before) > 2
        for level in ("batch", "idle", "nice:5", "nice:-5", "fifo:3", "rr:2", "other", "found"):
            try:
                knob.check(level)
            except HostUnfit:
                continue
            count += 1
            with knob.on_server(level, server):
                now = read_threads(server, schedules.read)
                setting = knob.setting(level)
                assert set(now.values()) == ({setting} if setting else set(before.values())), level
            assert read_threads(server, schedules.read) == before, level
        assert server.alive()
    assert count >= 4, "these levels need no capability"


def test_threads_are_pinned_by_the_level_and_then_free_again(memcached, tmp_path) -> None:
    first, second = need_two_cpus()
    knob = make_knob(memcached, tmp_path, pinning=True)
    with ManagedServer(memcached.spec, cpus=[first, second]) as server:
        before = read_threads(server, os.sched_getaffinity)
        for level, expected in [
            ("each", [{first}, {second}]),
            ("process", [{first}]),
            (f"each:{second}", [{second}]),
            (f"{first}", [{first}]),
            (f"{first},{second}", [{first, second}]),
            ("free", [{first, second}]),
        ]:
            knob.check(level)
            with knob.on_server(level, server):
                now = list(read_threads(server, os.sched_getaffinity).values())
                assert now == [expected[place % len(expected)] for place in range(len(now))], level
            assert read_threads(server, os.sched_getaffinity) == before
        main = next(task for task in tasks(server) if task.tid == server.pid)
        with make_knob(memcached, tmp_path, pinning=main.name).on_server(str(first), server):
            for task in tasks(server):
                affinity = {first} if task.name == main.name else {first, second}
                assert os.sched_getaffinity(task.tid) == affinity, task
        missing = make_knob(memcached, tmp_path, pinning="nobody")
        with raises(TargetError, "no-such-thread"), missing.on_server(str(first), server):
            pass
        own = make_knob(memcached, tmp_path, cpus=True)  # as if the server chose its CPUs itself
        with raises(HostUnfit, "setting-differs"), own.on_server(str(first), server):
            pass


def test_interference_uses_the_chosen_cpus_and_ends(memcached, tmp_path) -> None:
    pair = need_two_cpus()
    kinds = [
        {"interference": "spin", "on": list(pair), "share": 0.5},
        {"interference": "memory", "on": [pair[0]], "mib": 8},
        {"interference": "sh -c 'while :; do :; done'", "on": [pair[0]]},
    ]
    with ManagedServer(memcached.spec) as server:
        before = set(process_tree(os.getpid()))
        for table in kinds:
            knob = make_knob(memcached, tmp_path, **table)
            knob.check("on")
            with knob.on_server("off", server):
                assert set(process_tree(os.getpid())) <= before
            with knob.on_server("on", server):

                def busy_cpus(before: set[int] = before) -> set[int]:
                    """CPUs of new processes that are pinned to one."""
                    fresh = set(process_tree(os.getpid())) - before
                    affinities = [os.sched_getaffinity(pid) for pid in fresh if cpu_seconds([pid]) > 0.05]
                    return {min(cpus) for cpus in affinities if len(cpus) == 1}

                wait_for(lambda table=table: busy_cpus() == set(table["on"]), f"{table} works")
                fresh = set(process_tree(os.getpid())) - before
            assert not any(Path(f"/proc/{pid}").exists() for pid in fresh)


def test_interference_that_exits_is_reported(memcached, tmp_path) -> None:
    program, began = tmp_path / "hm-ends", tmp_path / "began"
    program.write_text(f"#!/bin/sh\ntouch {began}\nexit 3\n")
    program.chmod(0o755)
    knob = make_knob(memcached, tmp_path, interference=str(program))

    def runs() -> bool:
        names = [Path(f"/proc/{pid}/comm") for pid in process_tree(os.getpid())]
        return any(name.read_text() == "hm-ends\n" for name in names if name.exists())

    with ManagedServer(memcached.spec) as server:  # noqa: SIM117
        with raises(HostUnfit, "interference-ended"), knob.on_server("on", server):
            wait_for(lambda: began.exists() and not runs(), "its end")


def group_of(pid: int, controller: str) -> str:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") or controllers == "":
            return path
    return ""


def throttled_periods(group: Path) -> str:
    """Periods in which the group used up its quota, as the kernel counts them."""
    return dict(map(str.split, (group / "cpu.stat").read_text().splitlines()))["nr_throttled"]


def test_a_server_is_moved_into_a_group_and_out_of_it_again(memcached, tmp_path) -> None:
    first = min(os.sched_getaffinity(0))
    spinning = ["sh", "-c", 'sh -c "while :; do :; done" & exec "$@"', "sh", *memcached.spec.command]
    attempts = 0
    with ManagedServer(memcached.spec.model_copy(update={"command": spinning})) as server:
        for file, level in (
            ("cpu.max", "20000 100000"),
            ("cpu.max", "max 50000"),
            ("cpu.weight", "50"),
            ("memory.max", "512M"),
            ("cpuset.cpus", str(first)),
        ):
            knob, controller = make_knob(memcached, tmp_path, cgroup=file), file.split(".")[0]
            try:
                knob.attempt(level)
            except HostUnfit:
                continue
            attempts += 1
            place, before = cgroup.hierarchy(controller), group_of(server.pid, controller)
            with knob.on_server(level, server):
                group = place.group_of(server.pid)
                assert group is not None
                assert group.name.startswith(f"hindmost-{os.getpid()}-")
                assert Path("/", json.loads((tmp_path / "knobs.jsonl").read_text())["folder"]) == group
                if file == "cpuset.cpus":
                    assert os.sched_getaffinity(server.pid) == {first}
                if level == "20000 100000":
                    wait_for(
                        lambda group=group: int(throttled_periods(group)) > 1, "the spinner used up its quota"
                    )
            assert group_of(server.pid, controller) == before
            with knob.on_server("free", server):
                assert group_of(server.pid, controller) == before
            assert not group.exists()
            assert not list(place.top.glob(f"hindmost-*{os.getpid()}-*"))
        assert server.alive()
    if not attempts:
        pytest.skip("no cgroup can be made here")
    assert not (tmp_path / "knobs.jsonl").read_text()


def test_a_servers_sockets_are_set_and_accepted_connections_inherit_it(memcached, tmp_path) -> None:
    def values(knob: Knob, server: ManagedServer, peer: int | None = None) -> set[int]:
        results = set()
        for _, pid, number in sockets.sockets(server, peer):
            with sockets.borrow_socket(pid, number) as borrowed:
                results.add(knob._read(borrowed))
        return results

    attempts = 0
    with ManagedServer(memcached.spec) as server:
        for option, level in (("busy_poll", "50"), ("rcvbuf", "20000"), ("sndbuf", "20000")):
            knob = make_knob(memcached, tmp_path, socket=option)
            try:
                knob.check(level)
            except HostUnfit:
                continue
            attempts += 1
            expected, before = knob.value(level) * knob.constants.times, values(knob, server)
            assert before
            assert expected not in before
            with knob.on_server(level, server):
                assert values(knob, server) == {expected}
                with socket.create_connection((server.spec.host, server.port)) as client:
                    client.sendall(b"version\r\n")
                    assert client.recv(100).startswith(b"VERSION")
                    assert values(knob, server, client.getsockname()[1]) == {expected}
            assert values(knob, server) == before
            with knob.on_server("found", server):
                assert values(knob, server) == before
        # The kernel changes it with traffic (tcp(7)), so only the initial value is checked.
        knob = make_knob(memcached, tmp_path, socket="quickack")
        with knob.on_server("off", server):
            assert knob._read_accepted(server) == 0
    assert attempts, "buffers can be set everywhere"


@pytest.mark.redis
def test_a_server_that_sets_an_option_itself_is_reported(tmp_path) -> None:
    redis = parse_installed("redis", "redis-server")
    knob = make_knob(redis, tmp_path, socket="nodelay")
    with ManagedServer(redis.spec) as server:
        # redis gives every connection TCP_NODELAY.
        with raises(HostUnfit, "setting-differs", found=1), knob.on_server("off", server):
            pytest.fail("the body must not run")
        with knob.on_server("on", server):
            pass


def test_wake_up_latency_is_limited_while_the_device_is_open(memcached, tmp_path, exclusive) -> None:
    exclusive("cpu_dma_latency")
    knob = make_knob(memcached, tmp_path, cpu_dma_latency=True)
    try:
        knob.check("7")
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    before = cpu_dma_latency.in_force()
    with knob.before("7"):
        assert cpu_dma_latency.in_force() == 7
        with raises(HostUnfit, "setting-differs"), knob.before("9"):
            pass
    assert cpu_dma_latency.in_force() == before
    with knob.before("free"):
        assert cpu_dma_latency.in_force() == before
