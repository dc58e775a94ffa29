"""What a watched application is found by after a restart."""

import os
import subprocess
import sys

from listening import create_group, end, listener_pid
from measuring import wait_for
from messages import raises

from hindmost.commands.watch.application import BRIEF_WAIT, find_application, parse_application
from hindmost.commands.watch.daemon import WatchRequest, watch
from hindmost.commands.watch.identity import Identity, identify
from hindmost.commands.watch.ring import read_ring
from hindmost.errors import TargetError, UsageError


def sleeper(mark):
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", mark])


def test_a_listening_process_is_found_by_its_address():
    with listener_pid(0) as (server, port):
        assert identify(server.pid) == Identity("address", f"127.0.0.1:{port}")
        assert find_application(str(server.pid)).wait is None


def test_other_processes_are_found_by_their_command_line_for_a_short_time():
    mark = f"worker-of-test-{os.getpid()}"
    with sleeper(mark) as worker:
        identity = identify(worker.pid)
        assert identity.kind == "command"
        assert identity.value.endswith(mark)
        assert find_application(str(worker.pid)).wait == BRIEF_WAIT
        end(worker)
        assert identity.find() is None


def test_a_command_names_the_topmost_process_that_has_it():
    mark = f"part-of-test-{os.getpid()}"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)', {mark!r}])"
    with subprocess.Popen([sys.executable, "-c", script, mark], start_new_session=True) as parent:
        try:
            wait_for(lambda: find_application(f"command:{mark}").pid == parent.pid, "the command")
        finally:
            os.killpg(parent.pid, 9)
    with raises(TargetError, "no-such-process", value=f"command:{mark}"):
        find_application(f"command:{mark}")


def test_a_unit_is_found_by_its_cgroup():
    folder = create_group()
    unit = folder / f"shop-{os.getpid()}.service"
    try:
        unit.mkdir()
        with sleeper("one") as main, sleeper("other") as other:
            for process in (main, other):
                (unit / "cgroup.procs").write_text(str(process.pid))
            assert Identity("unit", unit.name).find() == min(main.pid, other.pid)
            assert find_application(unit.name).pid == min(main.pid, other.pid)
            # The topmost process of the unit stands for it; another one of its processes does not.
            assert identify(min(main.pid, other.pid)) == Identity("unit", unit.name)
            assert identify(max(main.pid, other.pid)).kind == "command"
            end(main)
            end(other)
    finally:
        for each in (unit, folder):
            each.rmdir()


def test_an_application_that_does_not_run_can_be_named():
    for text, identity in [
        ("shop.service", Identity("unit", "shop.service")),
        ("command:gunicorn shop", Identity("command", "gunicorn shop")),
        ("memcached://127.0.0.1:1", Identity("address", "127.0.0.1:1")),
    ]:
        parsed = parse_application(text)
        assert (parsed.identity, parsed.pid, parsed.wait) == (identity, None, None)
    assert parse_application("/sys/fs/cgroup/later").cgroup == "/sys/fs/cgroup/later"
    with raises(TargetError, "not-listening", port=1):
        find_application("memcached://127.0.0.1:1")
    with raises(UsageError, "bad-value", value="/sys/fs/cgroup/later"):
        find_application("/sys/fs/cgroup/later")
    with raises(UsageError, "bad-value", value="command:"):
        parse_application("command:")


def test_a_watch_follows_a_worker_with_the_same_command_line(tmp_path):
    mark, ring = f"again-in-test-{os.getpid()}", tmp_path / "worker.ring"
    with sleeper(mark) as first:
        application = find_application(str(first.pid))
        second = []

        def restart(_):
            end(first)
            second.append(sleeper(mark))

        request = WatchRequest(application, ring, 1 << 20, period_s=0.02, samples=40)
        try:
            result = watch(request, restart)
        finally:
            end(second[0])
    assert result["ended"] == "samples-taken"
    restarts = [what["pid"] for _, what in read_ring(ring).events if "restarted" in what]
    assert restarts == [second[0].pid]
