"""The local fleet with scripted clients: their events, how they end, and that no process is left."""

import json
import os
import stat
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from messages import raises

from hindmost.core.fleet import (
    Interval,
    Job,
    LiveView,
    LocalFleet,
    Moment,
    Place,
    client,
    phases,
    run_clients,
)
from hindmost.errors import ClientError

GOOD = """
say ready; hear
say warm; hear
say done
echo '{"schema": "hindmost.client/1", "plan": '$(cat "$plan")'}' > "$place/client-$index.json"
"""


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """Return a function that runs scripts instead of agents and returns their results."""

    def run(*scripts: str, watch=lambda _: None, patience_s=5.0, live=None, **plan):
        agent = tmp_path / "agent"
        agent.write_text(
            "#!/bin/sh\nplan=$5 place=$6 index=$(sed 's/.*\"index\": *\\([0-9]*\\).*/\\1/' $5)\n"
            f"echo $$ > {tmp_path}/pid-$index\n"
            'say() { echo \'{"event": "\'$1\'", "replies": 7}\'; }\nhear() { read -r order || exit 9; }\n'
            "case $index in\n"
            + "".join(f"{index})\n{script}\n;;\n" for index, script in enumerate(scripts))
            + "esac\n"
        )
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(client, "sys", SimpleNamespace(executable=str(agent)))
        jobs = [Job(json.dumps({"index": index, **plan})) for index in range(len(scripts))]
        return run_clients(LocalFleet(), jobs, tmp_path, (0.1, patience_s), watch, live=live)

    return run


def no_client_is_left(folder: Path) -> bool:
    """Return whether no client process is left, not even a zombie."""
    pids = [int(file.read_text()) for file in folder.glob("pid-*")]
    assert pids
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_results_are_in_order_and_other_files_are_removed(fleet, tmp_path):
    assert [result["plan"]["index"] for result in fleet(GOOD, GOOD)] == [0, 1]
    assert no_client_is_left(tmp_path)
    assert {file.name for file in tmp_path.glob("*-?.*")} == {"client-0.json", "client-1.json"}


def test_a_phase_begins_when_all_clients_are_ready(fleet):
    moments: list[Moment] = []
    slow = GOOD.replace("say warm", "sleep 0.3; say warm")
    fleet(GOOD, slow, watch=moments.append)
    phases = [moment.phase for moment in moments]
    assert phases == sorted(phases, key=["start", "warm-up", "measure", "collect"].index)
    assert {"warm-up", "measure", "collect"} <= set(phases)
    assert moments[-1].replies == 14


def test_time_spent_by_the_observer_does_not_count_against_clients(fleet, monkeypatch):
    """The clock jumps by an hour while the observer handles the end of the measurement."""
    ahead_s = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s[0])
    monkeypatch.setattr(phases, "time", clock)

    def jump_at_collect(moment: Moment) -> None:
        if moment.phase == "collect":
            ahead_s[0] = 3_600.0

    assert (
        len(fleet(GOOD.replace("say done", "say done; sleep 0.2"), watch=jump_at_collect, patience_s=60.0))
        == 1
    )


PRELOADING = {"preload": True, "workload": {"keys": 10_000}}


def test_preloading_is_reported_repeatedly(fleet, monkeypatch):
    monkeypatch.setattr(phases, "STORING_LOOK_S", 0.05)
    moments: list[Moment] = []
    fleet(GOOD.replace("say ready", "sleep 0.5; say ready"), watch=moments.append, **PRELOADING)
    storing = [moment for moment in moments if moment.keys]
    assert len(storing) > 3
    assert {(moment.phase, moment.keys) for moment in storing} == {("start", 10_000)}
    moments.clear()
    fleet(GOOD.replace("say ready", "sleep 0.5; say ready"), watch=moments.append)
    assert not [moment for moment in moments if moment.phase == "start"], (
        "no progress is reported without preloading"
    )


def test_a_slow_preload_is_an_error(fleet, monkeypatch):
    monkeypatch.setattr(phases, "PREPARE_S", 0.3)
    with raises(ClientError, "preload", client=0, keys=10_000):
        fleet("sleep 60", **PRELOADING)


def test_orders_name_the_same_future_moment_for_all_clients(fleet, tmp_path):
    recording = GOOD.replace("hear", f'hear; echo "$order" >> {tmp_path}/orders')
    before = time.monotonic_ns()
    fleet(recording, recording)
    orders = [json.loads(line) for line in (tmp_path / "orders").read_text().splitlines()]
    assert orders[0] == orders[1]
    assert orders[2] == orders[3]
    assert orders[0]["go"]["start_ns"] > before
    assert orders[2]["measure"]["from_ns"] > orders[0]["go"]["start_ns"]


def test_output_that_is_not_an_event_is_ignored(fleet, tmp_path):
    assert len(fleet("echo 'warning: odd'; echo; " + GOOD)) == 1


@pytest.mark.parametrize(
    ("script", "code", "fields"),
    [
        (
            """echo '{"event": "failed", "code": "connect", "message": "", "fields": {"port": 1}}'; exit 1""",
            "connect",
            {"port": 1},
        ),
        (
            """say ready; echo '{"event": "failed", "code": "garbage", "message": ""}'; exit 1""",
            "garbage",
            {},
        ),
        ("echo 'no such thing' >&2; exit 3", "client-ended", {"status": 3, "words": "no such thing"}),
        ("kill -9 $$", "client-ended", {"signal": 9}),
        (GOOD + 'rm "$place/client-$index.json"', "unreadable-result", {}),
        (GOOD + 'echo "{" > "$place/client-$index.json"', "unreadable-result", {}),
    ],
    ids=["connect", "garbage", "status", "killed", "no result", "half a result"],
)
def test_a_failing_client_is_reported_and_ends_the_others(fleet, tmp_path, script, code, fields):
    with raises(ClientError, code, client=1, **fields) as caught:
        fleet(GOOD, script)
    assert no_client_is_left(tmp_path)
    assert caught.value.hint


def test_a_stuck_client_is_reported_with_its_phase_and_killed(fleet, tmp_path, monkeypatch):
    monkeypatch.setattr(phases, "PREPARE_S", 0.3)
    monkeypatch.setattr(client, "_PATIENCE_S", 0.2)
    with raises(ClientError, "client-stuck", client=1, phase="start"):
        fleet(GOOD, "trap '' TERM; while :; do sleep 0.05; done")
    assert no_client_is_left(tmp_path)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interruption_leaves_no_client(fleet, tmp_path, failure):
    def watch(moment: Moment) -> None:
        raise failure

    with pytest.raises(failure):
        fleet(GOOD, GOOD, watch=watch)
    assert no_client_is_left(tmp_path)


class EveryHundredth(LiveView):
    """A live view whose seconds are short."""

    def wait_s(self):
        return 0.01

    def read(self):
        return Interval(1.0, 1.0, 0, None, None)


def test_a_live_view_is_read_while_the_clients_send_load_and_not_before(fleet):
    moments: list[Moment] = []
    slow = GOOD.replace("say done", "sleep 0.2; say done")
    fleet(slow, watch=moments.append, live=EveryHundredth(1))
    seen = {moment.phase for moment in moments if moment.interval is not None}
    assert seen == {"warm-up", "measure"}
    assert sum(moment.phase == "measure" for moment in moments) > 3


@pytest.mark.skipif(sys.platform != "linux", reason="CPU affinity needs Linux")
def test_a_client_runs_only_on_its_cpu(fleet, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    script_with_cpus = GOOD + f"grep Cpus_allowed_list /proc/self/status > {tmp_path}/where"
    job = Job('{"index": 0}', Place(cpus=(cpu,)))
    fleet(GOOD)  # makes the script
    script = tmp_path / "agent"
    script.write_text(script.read_text().replace(GOOD, script_with_cpus))
    run_clients(LocalFleet(), [job], tmp_path, (0.1, 5.0))
    assert (tmp_path / "where").read_text().split()[1] == str(cpu)
