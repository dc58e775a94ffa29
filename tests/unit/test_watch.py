"""Watches: applications, sources of latency, and rings as arrays."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from listening import create_group, end, listener_pid
from messages import raises

from hindmost import _engine
from hindmost.commands.watch.application import Application, find_application
from hindmost.commands.watch.blocks import metrics_of, quantiles_of
from hindmost.commands.watch.daemon import WatchRequest, watch
from hindmost.commands.watch.latency import latency_from
from hindmost.commands.watch.ring import bin_middle_us, merge, merged_quantile_us, read_ring
from hindmost.errors import HindmostError, TargetError, UsageError

OWN = Application("this test", os.getpid())


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    place = tmp_path_factory.mktemp("watch") / "own.ring"
    log = place.with_suffix(".log")
    log.write_text("")
    source = latency_from(OWN, probe=None, log=log, log_latency="column:1/ms")
    request = WatchRequest(OWN, place, 1 << 20, period_s=0.02, latency=source, samples=25)
    result = watch(request, lambda _: log.write_text("2.0\n2.0\n8.0\n"))
    return place, result


def test_a_ring_has_every_counter_of_the_dictionary_at_each_sample(ring):
    place, done = ring
    read = read_ring(place)
    assert done["samples"] == len(read.at_s) == 25
    assert read.names == [name for name, _, _ in _engine.watch_counters()]
    assert read.column("app.threads").min() >= 1
    assert np.nansum(read.column("app.run_us")) > 0
    assert not read.cut
    assert read.about["pid"] == os.getpid()
    # The samples of the watch include its own usage.
    assert 0 < read.values[-1, read.names.index("own.cpu_us")] <= done["cpu_us"]


def test_latencies_of_a_log_are_in_the_ring_and_merge_over_hosts(ring):
    read = read_ring(ring[0])
    assert read.values[-1, read.names.index("latency.requests")] == 3
    (row,) = merge([read, read], batch_s=3600.0)
    assert row.requests == 6
    assert row.p50_us == pytest.approx(2000, rel=0.02)
    assert row.p99_us == pytest.approx(8000, rel=0.02)


def test_bins_of_the_ring_have_a_width_of_a_64th():
    assert bin_middle_us(100) == pytest.approx(0.1, rel=0.02)
    assert merged_quantile_us([{100: 1}, {100: 1, 300: 2}], 0.5) == bin_middle_us(100)
    assert np.isnan(merged_quantile_us([], 0.5))


def test_a_missing_application_is_refused():
    with raises(TargetError, "no-such-process", pid=4194999):
        find_application("4194999")
    with raises(UsageError, "bad-value", value="no-such-cgroup-here"):
        find_application("no-such-cgroup-here")
    with raises(TargetError, "no-such-process", pid=4194999):
        watch(WatchRequest(Application("gone", 4194999), None))


def test_an_unwritable_ring_is_refused_before_the_first_sample(tmp_path):
    nowhere, other = tmp_path / "no" / "such.ring", tmp_path / "text.ring"
    with raises(HindmostError, "unwritable-file", path=str(nowhere)):
        watch(WatchRequest(OWN, nowhere, samples=1))
    other.write_text("no ring\n")
    with raises(HindmostError, "bad-file", path=str(other)):
        read_ring(other)


@pytest.mark.parametrize("place", ["column:0", "json:", "last", "column:1/min"])
def test_an_invalid_place_in_a_log_is_refused(place, tmp_path):
    with raises(UsageError, "bad-value", option="--log-latency", value=place):
        latency_from(OWN, probe=None, log=tmp_path / "x", log_latency=place)


def test_a_protocol_without_a_probe_is_refused():
    known = ["memcached", "redis", "http"]
    for address, protocol in [
        ("postgresql://127.0.0.1:5432", "postgresql"),
        ("https://127.0.0.1:443", "http"),
    ]:
        with raises(UsageError, "unknown-name", value=protocol, known=known):
            latency_from(OWN, probe="100/s", address=address)
    assert latency_from(OWN, probe="100/s") is None


def test_a_probe_requests_path_and_host_of_the_url():
    asked = latency_from(OWN, probe="100/s", address="http://localhost:8080/cart?user=1").document["probe"]
    assert (asked["path"], asked["host"], asked["protocol"]) == ("/cart?user=1", "localhost:8080", "http")
    assert asked["address"].endswith(":8080")
    assert latency_from(OWN, probe="9", address="redis://127.0.0.1:1").document["probe"] == {
        "address": "127.0.0.1:1", "protocol": "redis", "rate": 9.0,
    }  # fmt: skip
    for address in ("127.0.0.1:80", "http", "memcached"):
        with raises(UsageError, "bad-value", option="--probe-address", value=address):
            latency_from(OWN, probe="100/s", address=address)


def test_the_default_verb_is_used():
    from hindmost.cli.verbs import insert_default

    assert insert_default(["watch", "merge", "a"]) == ["watch", "merge", "a"]
    assert insert_default(["watch", "--help"]) == ["watch", "--help"]
    assert insert_default(["watch", "77"]) == ["watch", "start", "77"]
    assert insert_default(["measure", "77"]) == ["measure", "77"]


def test_the_document_has_the_figures_of_the_probe():
    source = latency_from(OWN, probe="50/s", address="memcached://localhost:11211")
    document = WatchRequest(OWN, None, latency=source).service.document()
    assert document["latency"]["probe"]["address"].endswith(":11211")
    assert document["latency"]["probe"]["rate"] == 50
    # Only a probe whose rate is left to us obeys a budget.
    assert "budget_us" not in document["latency"]["probe"]
    source = latency_from(OWN, probe="auto", address="memcached://localhost:11211", budget=0.001)
    assert (source.document["probe"]["rate"], source.document["probe"]["budget_us"]) == (25, 1000)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("nginx", '127.0.0.1 - - [t] "GET / HTTP/1.1" 200 12 "-" "curl" 0.004'),
        ("apache", '127.0.0.1 - - [t] "GET / HTTP/1.1" 200 12 4000'),
        ("envoy", '[t] "GET /a HTTP/1.1" 200 - 0 12 4 3 "-" "curl" "id" "host" "10.0.0.1:80"'),
        ("envoy-json", '{"duration": 4, "response_code": 200}'),
        ("caddy", '{"level": "info", "duration": 0.004, "status": 200}'),
        ("traefik", '{"Duration": 4000000, "DownstreamStatus": 200}'),
        ("key:rt/s", '127.0.0.1 "GET /?rt=9 HTTP/1.1" urt="-" rt=0.004'),
        ("json:http.took/ms", '{"http": {"took": "4"}}'),
    ],
)
def test_latencies_are_read_from_logs_of_common_servers(place, line, tmp_path):
    log = tmp_path / "access.log"
    log.write_text("")
    source = latency_from(OWN, probe=None, log=log, log_latency=place)
    request = WatchRequest(OWN, tmp_path / "log.ring", 1 << 20, period_s=0.02, latency=source, samples=12)
    watch(request, lambda _: log.write_text(f"{line}\n"))
    (row,) = merge([read_ring(request.ring)], batch_s=3600.0)
    assert (row.requests, row.p50_us) == (1, pytest.approx(4000, rel=0.02))


def test_a_ring_without_requests_has_no_blocks(tmp_path):
    source = latency_from(OWN, probe=None, log=tmp_path / "absent.log", log_latency="column:1/ms")
    (tmp_path / "absent.log").write_text("")
    request = WatchRequest(OWN, tmp_path / "own.ring", 1 << 20, period_s=0.02, latency=source, samples=5)
    watch(request, lambda _: None)
    ring = read_ring(request.ring)
    ends, values = quantiles_of(ring, 0.95)
    assert (len(ends), len(values)) == (0, 0)
    result = metrics_of(ring, ends)
    assert result
    assert all(len(one) == 0 for one in result.values())


def verb(*argv, **options):
    run = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", run, "watch", "start", *argv], **options)


def samples(ring):
    with contextlib.suppress(HindmostError):
        return len(read_ring(ring).at_s)
    return 0


def wait_for(seen, seconds=20.0):
    """Wait until a condition is true."""
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, "timeout"
        time.sleep(0.02)


def test_a_watch_ends_with_its_application(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as application:
        request = WatchRequest(
            Application("sleep", application.pid), tmp_path / "gone.ring", 1 << 20, period_s=0.02
        )
        result = watch(request, lambda _: end(application))
    assert result["ended"] == "application-ended"
    assert list(read_ring(request.ring).events[-1][1]) == ["ended"]


@pytest.mark.parametrize("by", ["address", "process"])
def test_a_watch_follows_a_restarted_server(by, tmp_path):
    ring = tmp_path / "again.ring"
    with contextlib.ExitStack() as stack:
        first, port = stack.enter_context(listener_pid(0))
        name = f"http://127.0.0.1:{port}" if by == "address" else str(first.pid)

        def restart() -> None:
            try:
                wait_for(lambda: samples(ring) >= 3)
                end(first)
                second, _ = stack.enter_context(listener_pid(port))
                wait_for(lambda: events(ring)[-1:] == [("restarted", second.pid)])
                wait_for(lambda: read_ring(ring).column("app.run_us")[-1] >= 0)
            finally:
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=restart)
        thread.start()
        result = watch(WatchRequest(find_application(name), ring, 1 << 20, period_s=0.02))
        thread.join()
    assert result["ended"] == "stopped"
    assert [name for name, _ in events(ring)] == ["ended", "restarted"]


def events(ring) -> list[tuple[str, int | None]]:
    """Return the events of the ring with their processes."""
    result = [what for _, what in read_ring(ring).events]
    return [(name, one.get("pid")) for one in result for name in ("ended", "restarted") if name in one]


def test_a_failed_start_leaves_no_ring(tmp_path):
    ring = tmp_path / "none.ring"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        source = latency_from(
            Application("x", os.getpid()), probe="10", address=f"http://127.0.0.1:{free.getsockname()[1]}"
        )
        with raises(TargetError, "no-latency-source"):
            watch(WatchRequest(Application("x", os.getpid()), ring, latency=source))
    assert not ring.exists()


def test_the_ring_of_a_killed_watch_is_continued(tmp_path):
    ring = tmp_path / "killed.ring"
    argv = (str(os.getpid()), "--probe", "0", "--period", "100ms", "--ring", str(ring), "--size", "1")
    with verb(*argv, stderr=subprocess.DEVNULL) as first:
        wait_for(lambda: samples(ring) >= 3)
        first.kill()
    before = samples(ring)
    assert before >= 3
    with verb(*argv, "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as second:
        wait_for(lambda: samples(ring) >= before + 3)
        second.send_signal(signal.SIGINT)
        out, _ = second.communicate(timeout=20)
    # Ctrl-C ends a watch with its report and without an error.
    assert second.returncode == 0
    assert json.loads(out)["ended"] == "stopped"
    assert np.all(np.diff(read_ring(ring).at_s) > 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system requires root")
def test_a_full_disk_is_refused_before_the_first_sample(tmp_path):
    script = (
        f"mount -t tmpfs -o size=256k none {tmp_path} && exec {sys.executable} -c"
        " 'import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))'"
        f" watch start {os.getpid()} --probe 0 --duration 1s --size 1 --ring {tmp_path}/full.ring --json"
    )
    process = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    if "unshare" in process.stderr or "mount:" in process.stderr:
        pytest.skip("namespaces require root outside a container")
    assert process.returncode == 1
    assert json.loads(process.stdout)["code"] == "unwritable-file"
    assert not (tmp_path / "full.ring").exists() or not (tmp_path / "full.ring").stat().st_size


def test_a_removed_cgroup_ends_its_watch():
    folder = create_group()
    try:
        with subprocess.Popen(["sleep", "60"]) as application:
            (folder / "cgroup.procs").write_text(str(application.pid))
            result = find_application(str(folder))
            outcome = watch(WatchRequest(result, None, period_s=0.02), lambda _: end(application))
        assert outcome["ended"] == "application-ended"
    finally:
        folder.rmdir()


def test_processes_of_nested_cgroups_belong_to_the_group():
    folder = create_group()
    child = folder / "child"
    try:
        child.mkdir()
        with subprocess.Popen(["sleep", "60"]) as application:
            (child / "cgroup.procs").write_text(str(application.pid))
            request = WatchRequest(find_application(str(folder)), None, period_s=0.02, samples=1)
            result = watch(request)
            end(application)
        assert result["ended"] == "samples-taken"
    finally:
        for each in (child, folder):
            each.rmdir()


def test_later_processes_of_the_application_are_watched(tmp_path):
    with subprocess.Popen(
        ["sh", "-c", "read go; sleep 60; true"], stdin=subprocess.PIPE, start_new_session=True
    ) as application:
        ring = tmp_path / "tree.ring"
        request = WatchRequest(Application("sh", application.pid), ring, 1 << 20, period_s=0.02, budget=1.0)

        def go() -> None:
            wait_for(lambda: samples(ring) >= 3)
            application.stdin.write(b"go\n")
            application.stdin.flush()
            with contextlib.suppress(AssertionError):
                wait_for(lambda: read_ring(ring).column("app.threads")[-1] == 2)
            os.killpg(application.pid, signal.SIGKILL)
            application.wait()

        threading.Thread(target=go).start()
        watch(request)
    threads = read_ring(ring).column("app.threads")
    assert (threads[0], threads.max()) == (1, 2)
