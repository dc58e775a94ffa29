"""Knobs on real servers: set, seen by the kernel, and put back."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from namespaces import need_mounts_of_our_own

from hindmost.errors import HindmostError, HostUnfit, TargetError
from hindmost.knobs import Knob, kind_of, knob_of, recover
from hindmost.knobs.kinds import cgroup, cpu_dma_latency
from hindmost.knobs.kinds import schedule as schedules
from hindmost.knobs.kinds import socket as sockets
from hindmost.knobs.tasks import tasks
from hindmost.targets import Managed, ManagedServer, cpu_seconds, parse_target, process_tree

pytestmark = pytest.mark.memcached


def managed(name: str, program: str) -> Managed:
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip(f"{program} is not installed")
    found = parse_target(name)
    assert isinstance(found, Managed)
    return found


@pytest.fixture
def memcached() -> Managed:
    return managed("memcached", "memcached")


def made(target: Managed, journal: Path, **what: object) -> Knob:
    return knob_of(kind_of(what), what, target, journal)


def of_threads(server: ManagedServer, read: Callable[[int], object]) -> dict[int, object]:
    return {task.tid: read(task.tid) for task in tasks(server)}


def two_processors() -> tuple[int, int]:
    own = sorted(os.sched_getaffinity(0))
    if len(own) < 2:
        pytest.skip("one processor only")
    return own[0], own[1]


def test_a_start_is_changed_by_options_arguments_variables_and_processors(memcached, tmp_path) -> None:
    first = min(os.sched_getaffinity(0))
    factors = [
        ({"option": "threads"}, "3"),
        ({"argument": "-o no_lru_maintainer"}, "on"),
        ({"env": "HINDMOST_TEST"}, "here"),
        ({"cpus": True}, str(first)),
    ]
    spec = memcached.spec
    knobs = [(made(memcached, tmp_path, **what), level) for what, level in factors]
    for knob, level in knobs:
        knob.check(level)
        spec = knob.spec(spec, level)
    with ManagedServer(spec) as server:
        for knob, level in knobs:
            with knob.beside(level, server):
                pass
        words = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
        assert words[words.index("-t") + 1] == "3"
        assert words[-3:] == ["-o", "no_lru_maintainer", ""]
        assert "HINDMOST_TEST=here" in Path(f"/proc/{server.pid}/environ").read_text().split("\0")
        assert os.sched_getaffinity(server.pid) == {first}


def test_processors_that_the_server_does_not_keep_are_told(memcached, tmp_path) -> None:
    first, second = two_processors()
    with ManagedServer(memcached.spec, cpus=[first, second]) as server:  # as if it chose them itself
        knob = made(memcached, tmp_path, cpus=True)
        with pytest.raises(HostUnfit, match="chooses its processors itself"), knob.beside(str(first), server):
            pass


@pytest.mark.parametrize("level", ["batch", "idle", "nice:5", "nice:-5", "fifo:3", "rr:2", "other", "found"])
def test_every_thread_is_scheduled_as_asked_and_then_as_before(memcached, tmp_path, level) -> None:
    knob = made(memcached, tmp_path, schedule=True)
    try:
        knob.check(level)
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    with ManagedServer(memcached.spec) as server:
        before = of_threads(server, schedules.read)
        assert len(before) > 2
        with knob.beside(level, server):
            now = of_threads(server, schedules.read)
            setting = knob.setting(level)
            assert set(now.values()) == ({setting} if setting else set(before.values()))
        assert of_threads(server, schedules.read) == before
        assert server.alive()


def test_threads_are_pinned_in_turn_or_together_and_then_free_again(memcached, tmp_path) -> None:
    first, second = two_processors()
    knob = made(memcached, tmp_path, pinning=True)
    with ManagedServer(memcached.spec, cpus=[first, second]) as server:
        before = of_threads(server, os.sched_getaffinity)
        for level, pinned in [
            ("each", [{first}, {second}]),
            ("process", [{first}]),
            (f"each:{second}", [{second}]),
            (f"{first}", [{first}]),
            (f"{first},{second}", [{first, second}]),
            ("free", [{first, second}]),
        ]:
            knob.check(level)
            with knob.beside(level, server):
                now = list(of_threads(server, os.sched_getaffinity).values())
                assert now == [pinned[place % len(pinned)] for place in range(len(now))], level
            assert of_threads(server, os.sched_getaffinity) == before


def test_only_threads_of_the_name_are_pinned(memcached, tmp_path) -> None:
    first, second = two_processors()
    with ManagedServer(memcached.spec, cpus=[first, second]) as server:
        names = {task.name for task in tasks(server)}
        main = next(task for task in tasks(server) if task.tid == server.pid)
        with made(memcached, tmp_path, pinning=main.name).beside(str(first), server):
            for task in tasks(server):
                expected = {first} if task.name == main.name else {first, second}
                assert os.sched_getaffinity(task.tid) == expected, (task, names)
        with (
            pytest.raises(TargetError, match="no thread called 'nobody'"),
            made(memcached, tmp_path, pinning="nobody").beside(str(first), server),
        ):
            pass


@pytest.mark.nginx
def test_each_process_of_a_server_is_pinned_to_one_processor(tmp_path) -> None:
    first, second = two_processors()
    nginx = managed("nginx", "nginx")
    spec = made(nginx, tmp_path, option="threads").spec(nginx.spec, "2")
    with (
        ManagedServer(spec, cpus=[first, second]) as server,
        made(nginx, tmp_path, pinning=True).beside("process", server),
    ):
        seen = [os.sched_getaffinity(pid) for pid in sorted(server.pids())]
        assert seen == [{first} if place % 2 == 0 else {second} for place in range(len(seen))]
        assert len(seen) == 3


@pytest.mark.parametrize(
    "what",
    [
        {"interference": "spin", "on": "{first}"},
        {"interference": "memory", "on": "{first}", "mib": 8},
        {"interference": "sh -c 'while :; do :; done'", "on": "{first}"},
    ],
)
def test_interference_takes_processor_time_where_it_is_told_and_is_gone(memcached, tmp_path, what) -> None:
    first = min(os.sched_getaffinity(0))
    knob = made(
        memcached,
        tmp_path,
        **{key: str(value).format(first=first) if key == "on" else value for key, value in what.items()},
    )
    knob.check("on")
    with ManagedServer(memcached.spec) as server:
        before = set(process_tree(os.getpid()))
        with knob.beside("off", server):
            assert set(process_tree(os.getpid())) <= before
        with knob.beside("on", server):
            fresh = set(process_tree(os.getpid())) - before
            deadline = time.monotonic() + 20
            while cpu_seconds(fresh) < 0.2:
                assert time.monotonic() < deadline, "it takes no processor time"
                time.sleep(0.02)
            busy = [pid for pid in fresh if cpu_seconds([pid]) > 0.1]
            assert [os.sched_getaffinity(pid) for pid in busy] == [{first}]
        assert not any(Path(f"/proc/{pid}").exists() for pid in fresh)


def test_one_spinner_for_each_processor(memcached, tmp_path) -> None:
    pair = two_processors()
    knob = made(memcached, tmp_path, interference="spin", on=list(pair), share=0.1)
    with ManagedServer(memcached.spec) as server, knob.beside("on", server):
        deadline = time.monotonic() + 20
        while True:
            where = [
                os.sched_getaffinity(pid)
                for pid in process_tree(os.getpid())
                if "noise.py" in Path(f"/proc/{pid}/cmdline").read_text()
            ]
            if sorted(min(cpus) for cpus in where if len(cpus) == 1) == list(pair):
                break
            assert time.monotonic() < deadline, where
            time.sleep(0.02)


def test_interference_that_ends_by_itself_is_told(memcached, tmp_path) -> None:
    knob = made(memcached, tmp_path, interference="sh -c 'sleep 0.2; echo no more; exit 3'")
    said = re.escape("exited with status 3, where it should run for all of it: no more")
    with ManagedServer(memcached.spec) as server:  # noqa: SIM117
        with pytest.raises(HostUnfit, match=said), knob.beside("on", server):
            time.sleep(1.0)


def group_of(pid: int, controller: str) -> str:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") or controllers == "":
            return path
    return ""


@pytest.mark.parametrize(
    ("file", "level"),
    [
        ("cpu.max", "50000 100000"),
        ("cpu.max", "max 50000"),
        ("cpu.weight", "50"),
        ("memory.max", "512M"),
        ("cpuset.cpus", "{first}"),
    ],
)
def test_a_server_is_in_a_group_and_out_of_it_again(memcached, tmp_path, file, level) -> None:
    first = min(os.sched_getaffinity(0))
    knob, level = made(memcached, tmp_path, cgroup=file), level.format(first=first)
    try:
        knob.attempt(level)
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    controller = file.split(".")[0]
    place = cgroup.hierarchy(controller)
    with ManagedServer(memcached.spec) as server:
        before = group_of(server.pid, controller)
        with knob.beside(level, server):
            group = place.group_of(server.pid)
            assert group is not None
            assert group.name.startswith(f"hindmost-{os.getpid()}-")
            if file == "cpuset.cpus":
                assert os.sched_getaffinity(server.pid) == {first}
            folder = json.loads((tmp_path / "knobs.jsonl").read_text())["folder"]
            assert Path("/", folder) == group
        assert group_of(server.pid, controller) == before
        assert server.alive()
        with knob.beside("free", server):
            assert group_of(server.pid, controller) == before
    assert not group.exists()
    assert not (tmp_path / "knobs.jsonl").read_text()
    assert not list(place.top.glob(f"hindmost-*{os.getpid()}-*"))


def test_a_quota_takes_processor_time_away(memcached, tmp_path) -> None:
    """A spinner of one processor, allowed a fifth of one, uses about that."""
    knob = made(memcached, tmp_path, cgroup="cpu.max")
    try:
        knob.attempt("20000 100000")
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")

    def used(server: ManagedServer) -> float:
        began, before = time.monotonic(), cpu_seconds([spinner])
        time.sleep(1.0)
        return (cpu_seconds([spinner]) - before) / (time.monotonic() - began)

    spec = memcached.spec.model_copy(
        update={
            "command": ["sh", "-c", 'sh -c "while :; do :; done" & exec "$@"', "sh", *memcached.spec.command]
        }
    )
    with ManagedServer(spec) as server:
        spinner = max(server.pids(), key=lambda pid: cpu_seconds([pid]))
        with knob.beside("20000 100000", server):
            assert used(server) < 0.4


@pytest.mark.parametrize(
    ("file", "level", "said"),
    [
        ("cpu.max", "plenty", "the kernel says"),
        ("cpu.nothing", "1", "have no cpu.nothing"),
        ("nothing.max", "1", "no cgroup hierarchy has the controller nothing"),
        ("cpu.weight", "heavy", "not a value of it"),
    ],
)
def test_what_a_group_does_not_take_is_refused_and_no_group_stays(
    memcached, tmp_path, file, level, said
) -> None:
    knob = made(memcached, tmp_path, cgroup=file)
    try:
        made(memcached, tmp_path, cgroup="cpu.max").attempt("max 100000")
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    with pytest.raises(HindmostError) as caught:
        (knob.check(level), knob.attempt(level))
    if "cpu.weight" not in file or "the kernel says" not in caught.value.message:  # version 2 says it itself
        assert said in caught.value.message
    assert not list(cgroup.hierarchy("cpu").top.glob(f"hindmost-*{os.getpid()}-*"))


@pytest.mark.parametrize(
    ("option", "level"),
    [("busy_poll", "50"), ("rcvbuf", "20000"), ("sndbuf", "20000")],
)
def test_a_servers_sockets_are_set_and_what_it_accepts_inherits_it(
    memcached, tmp_path, option, level
) -> None:
    knob = made(memcached, tmp_path, socket=option)
    try:
        knob.check(level)
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")

    def values(server: ManagedServer, peer: int | None = None) -> set[int]:
        found = set()
        for _, pid, number in sockets.sockets(server, peer):
            with sockets.borrowed(pid, number) as one:
                found.add(knob._read(one))
        return found

    wanted = knob.value(level) * knob.known.times
    with ManagedServer(memcached.spec) as server:
        before = values(server)
        assert before
        assert wanted not in before
        with knob.beside(level, server):
            assert values(server) == {wanted}
            with socket.create_connection((server.spec.host, server.port)) as one:
                one.sendall(b"version\r\n")
                assert one.recv(100).startswith(b"VERSION")
                assert values(server, one.getsockname()[1]) == {wanted}
        assert values(server) == before
        with knob.beside("found", server):
            assert values(server) == before


def test_a_connection_begins_with_quickack_as_set(memcached, tmp_path) -> None:
    """The kernel goes on from there as it sees traffic (tcp(7)), so only the beginning is looked at."""
    knob = made(memcached, tmp_path, socket="quickack")
    with ManagedServer(memcached.spec) as server, knob.beside("off", server):
        assert knob._accepted(server) == 0


@pytest.mark.redis
def test_a_server_that_sets_an_option_itself_is_told(tmp_path) -> None:
    redis = managed("redis", "redis-server")
    knob = made(redis, tmp_path, socket="nodelay")
    with ManagedServer(redis.spec) as server:
        # redis gives every connection TCP_NODELAY.
        with (
            pytest.raises(HostUnfit, match="a connection that the server accepted has 1"),
            knob.beside("off", server),
        ):
            pytest.fail("the body must not run")
        with knob.beside("on", server):
            pass


def test_what_accepted_sockets_do_not_inherit_is_refused(memcached, tmp_path) -> None:
    first, second = two_processors()
    knob = made(memcached, tmp_path, socket="incoming_cpu")
    heirs = {cpu: knob.tried(cpu)[1] for cpu in (first, second)}
    for cpu, heir in heirs.items():
        if heir != cpu:
            with pytest.raises(HostUnfit, match="an accepted socket does not inherit it"):
                knob.check(str(cpu))
            return
    pytest.skip("this kernel hands incoming_cpu down")


def test_wake_ups_are_limited_while_the_device_is_held(memcached, tmp_path) -> None:
    knob = made(memcached, tmp_path, cpu_dma_latency=True)
    try:
        knob.check("7")
    except HostUnfit as refusal:
        pytest.skip(f"{refusal}")
    before = cpu_dma_latency.in_force()
    with knob.before("7"):
        assert cpu_dma_latency.in_force() == 7
        with pytest.raises(HostUnfit, match="another program asks for less"), knob.before("9"):
            pass
    assert cpu_dma_latency.in_force() == before
    with knob.before("free"):
        assert cpu_dma_latency.in_force() == before


def test_commands_write_and_undo_what_was_read(memcached, tmp_path) -> None:
    file = tmp_path / "it's a setting"
    file.write_text("one\n")
    quoted = shlex.quote(str(file))
    what = {"command": f"echo {{level}} > {quoted}", "read": f"cat {quoted}"}
    knob = made(memcached, tmp_path / "journal", **what)
    knob.attempt("two")
    with knob.before("two; $(touch no)"):
        assert file.read_text() == "two; $(touch no)\n"
        entry = json.loads((tmp_path / "journal" / "knobs.jsonl").read_text())
        assert (entry["found"], entry["undo"]) == ("one", f"echo one > {quoted}")
    assert file.read_text() == "one\n"
    undone = made(memcached, tmp_path / "journal", **what, undo=f"echo was {{found}} > {quoted}")
    with pytest.raises(KeyboardInterrupt), undone.before("three"):
        raise KeyboardInterrupt
    assert file.read_text() == "was one\n"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"command": "false {level}", "undo": "true"}, "exited with status 1"),
        (
            {"command": "true {level}", "read": "echo other"},
            "was set to 'x', but 'echo other' then says 'other'",
        ),
        ({"command": "true {level}", "undo": "echo broken >&2; exit 4"}, "broken"),
    ],
)
def test_commands_that_fail_are_told(memcached, tmp_path, what, said) -> None:
    knob = made(memcached, tmp_path, **what)
    with pytest.raises(HindmostError, match=re.escape(said)), knob.before("x"):
        pass


def test_a_read_that_fails_is_told_before_anything_starts(memcached, tmp_path) -> None:
    with pytest.raises(HostUnfit, match="no-such-program"):
        made(memcached, tmp_path, command="true {level}", read="no-such-program").attempt("x")


IN_A_NAMESPACE = """
import json, os, subprocess, sys
from pathlib import Path
from hindmost.knobs.kinds import host
from hindmost.targets import parse_target
subprocess.run(["mount", "-t", "sysfs", "none", "/sys"], check=True)  # the mount namespace is ours, too
subprocess.run(["ip", "link", "add", "hm0", "type", "veth", "peer", "name", "hm1"], check=True)
queues = Path("/sys/class/net/hm0/queues")
def made(name):
    return host.make({"knob": name}, parse_target("memcached"), Path(sys.argv[1]))
def offload():
    from hindmost.knobs.journal import knobs
    return knobs(Path(sys.argv[1]))["gro@hm0"]["value"]
said = {"before": [offload(), (queues / "rx-0/rps_cpus").read_text()]}
with made("rps@hm0").before("one"), made("gro@hm0").before("on"):
    said["inside"] = [offload(), (queues / "rx-0/rps_cpus").read_text()]
said["after"] = [offload(), (queues / "rx-0/rps_cpus").read_text()]
try:
    made("rx_usecs@hm0")
except Exception as error:
    said["coalescing"] = str(error)
print(json.dumps(said))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace")
def test_queues_and_offloads_of_an_interface_of_our_own(tmp_path) -> None:
    need_mounts_of_our_own()
    done = subprocess.run(
        ["unshare", "--net", "--mount", sys.executable, "-c", IN_A_NAMESPACE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["inside"] == ["on", "1\n"]
    assert said["after"] == said["before"] == ["off", "0\n"]
    assert "there is no knob 'rx_usecs@hm0'" in said["coalescing"]


def test_a_command_does_not_write_after_its_undo(tmp_path) -> None:
    """Its study is killed in mid-write: the shell ends with it, and what the shell has started is waited for."""
    for write in ("sleep 0.5; echo {level} > FILE", "sh -c 'sleep 0.5; echo $0 > FILE' {level} & wait"):
        file, journal = tmp_path / "setting", tmp_path / "journal"
        file.write_text("found\n")
        what = {"command": write.replace("FILE", str(file)), "read": f"cat {file}"}
        code = (
            "import json, sys; from pathlib import Path\n"
            "from hindmost.knobs import kind_of, knob_of; from hindmost.targets import parse_target\n"
            "what = json.loads(sys.argv[1])\n"
            "knob = knob_of(kind_of(what), what, parse_target('memcached'), Path(sys.argv[2]))\n"
            "print('set', flush=True)\n"
            "knob.before('late').__enter__()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(what), str(journal)], stdout=subprocess.PIPE, text=True
        ) as study:
            assert study.stdout is not None
            study.stdout.readline()
            deadline = time.monotonic() + 20
            while not (journal / "knobs.jsonl").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)  # the write sleeps half a second: it has begun, and has not written
            study.kill()
        assert [one["failure"] for one in recover(journal)] == [None]
        time.sleep(1.0)
        assert file.read_text() == "found\n", write
        shutil.rmtree(journal)
