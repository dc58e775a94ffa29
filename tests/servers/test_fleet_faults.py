"""What goes wrong with load machines is told with host and place, voids the run, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from machines import ROOT, machines
from measuring import finish, measure, start, wait_for

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.store import Study

LOAD = ("--rate", "1k", "--pacing", "sleep", "--sentinel", "off")
WORKER = "hindmost.fleet.dask.worker"


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2) as found:
        yield found


@pytest.fixture(scope="module")
def url(two):
    with two.memcached() as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_is_left(two):
    yield
    wait_for(lambda: not two.left(), f"nothing is left: {two.left()}", 30.0)


def begun(two, url, out, *more):
    """A study whose first run measures on both machines."""
    words = ("--json", "--out", out, "--fleet", two.hosts_file(), *LOAD)
    process = start("measure", url, *words, "--duration", "4s", "--warmup", "0.3s", "--runs", "1", *more)
    wait_for(
        lambda: all(any("instance" in c for c in one.commands().values()) for one in two.loads), "instances"
    )
    time.sleep(2.0)
    return process


def test_a_host_that_dies_voids_its_run_which_is_made_again_and_says_so(two, url, tmp_path):
    out = tmp_path / "study"
    process = begun(two, url, out)
    two.by_name["a"].kill(WORKER)
    answer = finish(process, out)
    assert answer.code in (0, 4, 6), answer.err
    (run,) = Study.open(out).runs()
    assert len(run.record["voided"]) == 1
    assert "host a was lost" in run.record["voided"][0]
    assert "host a was lost" in answer.err
    assert [one["code"] for one in answer.result["reasons"]].count("host-lost") == 1
    assert answer.result["fleet"]["voided"][0]["run"] == 1


def test_a_host_that_stays_away_ends_the_study_by_its_name(two, url, tmp_path):
    out = tmp_path / "study"
    process = begun(two, url, out)
    one = two.by_name["b"]
    one.end()
    try:
        answer = finish(process, out)
        answer.assert_one_clear_error(1, "host b", "cannot be reached")
    finally:
        one.begin_sshd(two.folder)
        wait_for(lambda: one.answers(), "sshd is back")
        for path in (two.folder / "tmp").glob("hindmost-*"):  # as it was when the power went
            shutil.rmtree(path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_controller_that_is_ended_leaves_nothing_on_any_machine(two, url, how, tmp_path):
    process = begun(two, url, tmp_path / "study")
    os.kill(process.pid, how)
    answer = finish(process, tmp_path / "study")
    assert answer.code == (130 if how == signal.SIGINT else -how), answer.err
    wait_for(lambda: not two.left(), "workers, instances and folders are gone", 30.0)


def test_a_host_that_cannot_be_reached_is_named(two, url, tmp_path):
    hosts = two.hosts_file('[[host]]\nname = "c"\naddress = "127.0.0.1"\nssh = { port = 1 }\n')
    answer = measure(url, tmp_path / "study", "--fleet", hosts, *LOAD)
    answer.assert_one_clear_error(1, "host c (127.0.0.1) cannot be reached", "ssh -p 1")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("another key", ("host b (", "refuses the login", "Permission denied", "stranger", "ssh-copy-id")),
        ("no such key", ("host b: key ", "/nowhere/key", "No such file", "ls -l")),
        ("no key", ("host b: a key for its login cannot be used", "no-key", "ssh-add")),
        (
            "with a passphrase",
            ("host b: a key for its login cannot be used", "locked", "assphrase", "ssh-add"),
        ),
        ("an unknown host", ("host b (", "is not known by its key", "none-known", "true")),
        ("another user", ("host b (", "refuses the login", "nobody-there")),
    ],
)
def test_a_login_that_one_host_refuses_is_told_with_its_name_and_what_differs(
    two, url, what, words, tmp_path
):
    for name, passphrase in (("stranger", ""), ("locked", "word")):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(tmp_path / name)]
        subprocess.run(made, check=True, stdin=subprocess.DEVNULL)
    (tmp_path / "no-key").write_text("a shopping list\n")
    (tmp_path / "none-known").write_text("")
    differs = {
        "another key": f'key = "{tmp_path / "stranger"}"',
        "no such key": 'key = "/nowhere/key"',
        "no key": f'key = "{tmp_path / "no-key"}"',
        "with a passphrase": f'key = "{tmp_path / "locked"}"',
        "an unknown host": f'known_hosts = "{tmp_path / "none-known"}"',
        "another user": 'user = "nobody-there"',
    }
    hosts = two.hosts_file(b=f"ssh = {{ {differs[what]} }}")
    answer = measure(url, tmp_path / "study", "--fleet", hosts, *LOAD)
    answer.assert_one_clear_error(1, *words)


def test_a_host_whose_python_has_no_hindmost_is_told_how_to_get_it(two, url, tmp_path):
    hosts = two.hosts_file(a='ssh = { python = "/usr/bin/python3" }')
    answer = measure(url, tmp_path / "study", "--fleet", hosts, *LOAD)
    answer.assert_one_clear_error(1, "host a", "No module named", "pip install 'hindmost[fleet]==")


def test_a_host_with_another_version_is_refused_with_both(two, url, tmp_path):
    other = two.folder / "other"
    text = (two.folder / "python").read_text()
    code = (
        "import hindmost, runpy; hindmost.__version__ = '9.9.9';"
        f" runpy.run_module('{WORKER}', run_name='__main__')"
    )
    other.write_text(text.replace('"$@"', f'-c "{code}"'))
    other.chmod(0o755)
    hosts = two.hosts_file(b=f'ssh = {{ python = "{other}" }}')
    answer = measure(url, tmp_path / "study", "--fleet", hosts, *LOAD)
    answer.assert_one_clear_error(1, "host b has version 9.9.9", "0.1.0")


def test_a_host_without_a_way_to_the_server_is_named_beside_those_that_have_one(two, url, tmp_path):
    b = two.by_name["b"]
    route = ["ip", "-n", b.namespace, "route", "add", "unreachable", f"{two.server.address}/32"]
    subprocess.run(route, check=True)
    try:
        answer = measure(url, tmp_path / "study", "--fleet", two.hosts_file(), *LOAD)
    finally:
        subprocess.run([*route[:4], "del", *route[5:]], check=True)
    answer.assert_one_clear_error(1, "host b: cannot reach", two.server.address, "No route to host", "a can")


def test_a_full_disk_of_a_host_is_named_with_its_place(two, url, tmp_path):
    small = two.folder / "small"
    small.mkdir()
    there = ["nsenter", "--mount", "--target", str(two.by_name["b"].sshd.pid)]
    disk = ["mount", "-t", "tmpfs", "-o", "size=32k", "none", str(small)]
    if subprocess.run([*there, *disk], check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        hosts = two.hosts_file(b=f'folder = "{small}"')
        answer = measure(url, tmp_path / "study", "--fleet", hosts, *LOAD)
    finally:
        subprocess.run([*there, "umount", "-l", str(small)], check=True)
    answer.assert_one_clear_error(1, "host b", str(small), "No space left")


@contextmanager
def scheduler(*names: str, **settings: str):
    """A scheduler of somebody else's on this machine, with workers of these names; settings as Dask's variables."""
    dask = [str(Path(shutil.which("python") or "python")), "-m"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **settings}
    ends = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
    place = Path("/tmp") / f"hindmost-scheduler-{os.getpid()}"
    place.unlink(missing_ok=True)
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place)]
    processes = [subprocess.Popen([*dask, "distributed.cli.dask_scheduler", *words], **ends)]
    try:
        wait_for(lambda: place.exists() and place.stat().st_size, "the scheduler")
        address = json.loads(place.read_text())["address"]
        for name in names:
            words = [address, "--nthreads", "1", "--no-nanny", "--name", name, "--no-dashboard"]
            processes.append(subprocess.Popen([*dask, "distributed.cli.dask_worker", *words], **ends))
        yield address, processes[1:]
    finally:
        for one in processes:
            one.kill()
            one.wait()
        place.unlink(missing_ok=True)


def workers_of(address: str) -> int:
    from distributed import Client

    with Client(address, timeout=20) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])


def test_a_scheduler_without_workers_is_refused(url, tmp_path):
    with scheduler() as (address, _):
        answer = measure(url, tmp_path / "study", "--fleet", address, *LOAD)
    answer.assert_one_clear_error(2, "has no workers", "dask worker")


def test_a_scheduler_that_does_not_answer_is_told(url, tmp_path):
    answer = measure(url, tmp_path / "study", "--fleet", "tcp://127.0.0.1:1", *LOAD)
    answer.assert_one_clear_error(2, "no scheduler answers at tcp://127.0.0.1:1")


def silent(url, out, address) -> bool:
    """Whether both workers were, in one run; if not, the study says so (a busy host is late with what was said before)."""
    answer = measure(url, out, "--fleet", address, *LOAD, "--runs", "1")
    assert answer.code in (0, 4, 6), answer.err
    hosts = [one for run in Study.open(out).runs() for one in run.record["fleet"]]
    assert {one["host"] for one in hosts} == {"north", "south"}
    said = [one["channel"]["bytes"] for one in hosts]
    assert not any(said) or "worker-active" in [one["code"] for one in answer.result["reasons"]], said
    return not any(said)


def test_workers_of_a_scheduler_measure_and_are_silent_and_one_that_vanishes_is_named(url, tmp_path):
    with scheduler("north", "south") as (address, workers):
        wait_for(lambda: workers_of(address) == 2, "both workers")
        assert any(silent(url, tmp_path / name, address) for name in ("first", "second", "third"))
        out = tmp_path / "other"
        words = ("--json", "--out", out, "--fleet", address, *LOAD, "--duration", "20s", "--runs", "1")
        process = start("measure", url, *words, "--warmup", "0.3s")
        wait_for(lambda: list(out.glob("runs/.part-*")), "the run")
        time.sleep(2.0)
        workers[0].kill()
        answer = finish(process, out)
        answer.assert_one_clear_error(1, "host north was lost", "dask worker")


def test_a_worker_that_was_lost_is_not_waited_for_again():
    from hindmost.errors import HostLost
    from hindmost.fleet.dask.given import GivenChannel
    from hindmost.fleet.dask.hosts import parse_fleet

    # It tries to reach a worker that is gone for half a minute, if nobody says otherwise.
    with scheduler("north", DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="0.5s") as (address, (worker,)):
        wait_for(lambda: workers_of(address) == 1, "the worker")
        channel = GivenChannel(parse_fleet(address))
        try:
            assert channel.ask("north", {"hello": {}}).said["version"]
            worker.kill()
            wait_for(lambda: workers_of(address) == 0, "its end is seen")
            with pytest.raises(HostLost, match="its connection ended"):
                channel.ask("north", {"hello": {}})
            with pytest.raises(HostLost, match="it was lost before"):
                channel.ask("north", {"hello": {}})
        finally:
            channel.close()
