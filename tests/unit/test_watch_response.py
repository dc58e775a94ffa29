"""Diagnoses that a watch starts when latency becomes slow, and the limits of their policy."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from measuring import wait_for

from hindmost import _engine
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.daemon import Service, WatchRequest, watch
from hindmost.commands.watch.latency import latency_from
from hindmost.commands.watch.response import Responder, Response
from hindmost.commands.watch.ring import read_ring
from hindmost.core.targets.guard import parents

OWN = Application("this test", os.getpid())
NOBODY = "4194999"


class Inbox:
    """Keeps what is reported."""

    def __init__(self):
        self.events = []

    def report(self, service, event):
        assert service == OWN.name
        self.events += json.loads(event).items()

    def keys(self):
        return [key for key, _ in self.events]


@pytest.fixture
def judged(monkeypatch):
    """What the ring is judged as: an anomaly, unless a test changes it."""
    judged = SimpleNamespace(change=SimpleNamespace(kind="anomaly", why="3 times the baseline"), count=0)

    def judge(*_):
        judged.count += 1
        return judged

    monkeypatch.setattr("hindmost.commands.watch.blocks.judge_ring", judge)
    return judged


@pytest.fixture
def service(tmp_path):
    """A service with a ring, whose diagnosis fails at once, because its application does not exist."""
    ring, policy = tmp_path / "own.ring", tmp_path / "may.toml"
    policy.write_text("may = []\n")
    watch(WatchRequest(OWN, ring, 1 << 20, period_s=0.02, samples=3))
    return Service(OWN.name, OWN, ring, response=Response(policy, (NOBODY,), tmp_path / "diagnoses"))


def respond(responder, service):
    responder.respond(service)
    responder._thread.join()


def logs(service):
    return [*service.response.folder.glob("*.log")]


def test_an_anomaly_starts_one_diagnosis_within_the_time_of_the_policy(service, judged):
    inbox = Inbox()
    with Responder(inbox) as responder:
        respond(responder, service)
        assert inbox.keys() == ["slow", "diagnosis", "diagnosis"]
        (log,) = logs(service)
        assert "no-such-process" in log.read_text()
        assert inbox.events[-1][1].startswith("diagnosis ended with exit code 1")
        respond(responder, service)
    # So does a watch that was started again.
    with Responder(inbox) as responder:
        respond(responder, service)
        assert (len(logs(service)), len(inbox.events), judged.count) == (1, 3, 1)
        # A minute later than the policy's half hour.
        os.utime(log, times=(log.stat().st_atime, log.stat().st_mtime - 31 * 60))
        respond(responder, service)
    assert judged.count == 2
    assert inbox.keys() == ["slow", "diagnosis", "diagnosis"] * 2


@pytest.mark.parametrize("kind", ["none", "undecided"])
def test_only_an_anomaly_starts_a_diagnosis(kind, service, judged):
    judged.change.kind = kind
    inbox = Inbox()
    with Responder(inbox) as responder:
        respond(responder, service)
    assert (inbox.events, logs(service)) == ([], [])


@pytest.mark.parametrize("policy", ["hosts = ['not-this-*']", "hours = []", "may = ['everything']"])
def test_a_policy_that_forbids_it_starts_no_diagnosis(policy, service, judged):
    service.response.policy.write_text(policy)
    inbox = Inbox()
    with Responder(inbox) as responder:
        respond(responder, service)
    assert logs(service) == []
    assert inbox.keys()[-1:] == ["diagnosis"]


def test_a_policy_of_this_host_allows_it(service, judged):
    service.response.policy.write_text(f"hosts = ['{socket.gethostname()}']\nmay = []\n")
    with Responder(Inbox()) as responder:
        respond(responder, service)
    assert len(logs(service)) == 1


LONG = ["watch", "start", str(os.getpid()), "--probe", "0", "--size", "1", "--ring"]
"""A command that runs until it is ended, in place of a long diagnosis."""


def test_the_end_of_a_watch_ends_its_diagnosis(tmp_path):
    ring, codes = tmp_path / "long.ring", []
    with Responder(Inbox()) as responder, (tmp_path / "log").open("wb") as log:
        thread = threading.Thread(
            target=lambda: codes.append(responder._run([*LONG, str(ring)], log.fileno()))
        )
        thread.start()
        wait_for(ring.exists, "the command")
    thread.join(20)
    assert codes == [0]
    assert Responder(Inbox())._run(["watch", "list"], 2) == 0


KILLED = f"""
import sys
from hindmost import _engine
from hindmost.commands.watch.response import Responder
with Responder(_engine.WatchInbox()) as responder:
    responder._run({LONG} + sys.argv[1:], 1)
"""


def test_a_killed_watch_leaves_no_diagnosis(tmp_path):
    ring = tmp_path / "long.ring"
    command = [sys.executable, "-c", KILLED, str(ring)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        wait_for(ring.exists, "the command")
        children = [pid for pid, parent in parents().items() if parent == killed.pid]
        assert children
        killed.kill()
    wait_for(lambda: not {*children} & {*parents()}, "the end of the command")


def test_a_slow_latency_is_noticed_and_its_diagnosis_is_an_event_of_the_ring(tmp_path, judged, monkeypatch):
    monkeypatch.setattr("hindmost.commands.watch.daemon.SLOWDOWN_BLOCK_MS", 200)
    log, ring, policy = tmp_path / "access.log", tmp_path / "own.ring", tmp_path / "may.toml"
    log.touch()
    policy.touch()
    source = latency_from(OWN, probe=None, log=log, log_latency="column:1/ms")
    response = Response(policy, (NOBODY,), tmp_path / "diagnoses")
    request = WatchRequest(OWN, ring, 1 << 20, period_s=0.02, latency=source, response=response)

    def diagnoses():
        return [what for _, what in read_ring(ring).events if "diagnosis" in what]

    def write():
        try:
            for block in range(1000):
                with log.open("a") as file:
                    file.write("1\n" if block < 60 else "90\n")
                if ring.exists() and len(diagnoses()) == 2:
                    break
                threading.Event().wait(0.03)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    writer = threading.Thread(target=write)
    watch(request, lambda _: writer.start())
    writer.join()
    keys = [key for _, what in read_ring(ring).events for key in what if key in ("slow", "diagnosis")]
    assert keys == ["slow", "diagnosis", "diagnosis"]
    words = [_engine.describe_event(json.dumps(what)) for what in diagnoses()]
    assert [word == what["diagnosis"] for word, what in zip(words, diagnoses(), strict=True)] == [True, True]
