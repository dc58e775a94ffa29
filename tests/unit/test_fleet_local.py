"""The fleet against scripted instances: what they say, how they end, and that none is left behind."""

import json
import os
import stat
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from messages import raises

from hindmost.errors import ClientError
from hindmost.fleet import Job, LocalFleet, Moment, Place, client, phases, run_clients

GOOD = """
say ready; hear
say warm; hear
say done
echo '{"schema": "hindmost.client/1", "plan": '$(cat "$plan")'}' > "$place/client-$index.json"
"""


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    """Run scripts in place of agents; gives their results."""

    def run(*scripts: str, watch=lambda _: None, patience_s=5.0, **plan):
        agent = tmp_path / "agent"
        agent.write_text(
            "#!/bin/sh\nplan=$5 place=$6 index=$(sed 's/.*\"index\": *\\([0-9]*\\).*/\\1/' $5)\n"
            f"echo $$ > {tmp_path}/pid-$index\n"
            'say() { echo \'{"event": "\'$1\'", "replies": 7}\'; }\nhear() { read -r told || exit 9; }\n'
            "case $index in\n"
            + "".join(f"{index})\n{script}\n;;\n" for index, script in enumerate(scripts))
            + "esac\n"
        )
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(client, "sys", SimpleNamespace(executable=str(agent)))
        jobs = [Job(json.dumps({"index": index, **plan})) for index in range(len(scripts))]
        return run_clients(LocalFleet(), jobs, tmp_path, (0.1, patience_s), watch)

    return run


def gone(folder: Path) -> bool:
    """Whether no instance is left; a zombie would be one."""
    pids = [int(file.read_text()) for file in folder.glob("pid-*")]
    assert pids
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_results_come_in_order_and_only_they_are_left(fleet, tmp_path):
    assert [one["plan"]["index"] for one in fleet(GOOD, GOOD)] == [0, 1]
    assert gone(tmp_path)
    assert {file.name for file in tmp_path.glob("*-?.*")} == {"client-0.json", "client-1.json"}


def test_phases_pass_only_when_all_are_there(fleet):
    seen: list[Moment] = []
    slow = GOOD.replace("say warm", "sleep 0.3; say warm")
    fleet(GOOD, slow, watch=seen.append)
    phases = [moment.phase for moment in seen]
    assert phases == sorted(phases, key=["start", "warm-up", "measure", "collect"].index)
    assert {"warm-up", "measure", "collect"} <= set(phases)
    assert seen[-1].replies == 14


def test_what_is_done_when_the_measurement_is_over_is_none_of_the_clients_time(fleet, monkeypatch):
    """The clock jumps by an hour while the end of the measurement is told."""
    ahead_s = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s[0])
    monkeypatch.setattr(phases, "time", clock)

    def ending(moment: Moment) -> None:
        if moment.phase == "collect":
            ahead_s[0] = 3_600.0

    assert len(fleet(GOOD.replace("say done", "say done; sleep 0.2"), watch=ending, patience_s=60.0)) == 1


STORES = {"preload": True, "workload": {"keys": 10_000}}


def test_while_keys_are_stored_it_is_told_again_and_again_and_never_after(fleet, monkeypatch):
    monkeypatch.setattr(phases, "STORING_LOOK_S", 0.05)
    seen: list[Moment] = []
    fleet(GOOD.replace("say ready", "sleep 0.5; say ready"), watch=seen.append, **STORES)
    storing = [moment for moment in seen if moment.keys]
    assert len(storing) > 3
    assert {(moment.phase, moment.keys) for moment in storing} == {("start", 10_000)}
    seen.clear()
    fleet(GOOD.replace("say ready", "sleep 0.5; say ready"), watch=seen.append)
    assert not [moment for moment in seen if moment.phase == "start"], (
        "nobody is woken where nothing is stored"
    )


def test_keys_that_take_too_long_are_named_as_what_does(fleet, monkeypatch):
    monkeypatch.setattr(phases, "PREPARE_S", 0.3)
    with raises(ClientError, "preload", client=0, keys=10_000):
        fleet("sleep 60", **STORES)


def test_orders_name_one_moment_ahead_for_all(fleet, tmp_path):
    told = GOOD.replace("hear", f'hear; echo "$told" >> {tmp_path}/told')
    before = time.monotonic_ns()
    fleet(told, told)
    orders = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert orders[0] == orders[1]
    assert orders[2] == orders[3]
    assert orders[0]["go"]["start_ns"] > before
    assert orders[2]["measure"]["from_ns"] > orders[0]["go"]["start_ns"]


def test_what_is_no_event_is_passed_over(fleet, tmp_path):
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
def test_one_that_fails_is_told_and_ends_the_others(fleet, tmp_path, script, code, fields):
    with raises(ClientError, code, client=1, **fields) as caught:
        fleet(GOOD, script)
    assert gone(tmp_path)
    assert caught.value.hint


def test_one_that_is_stuck_is_named_with_its_phase_and_killed(fleet, tmp_path, monkeypatch):
    monkeypatch.setattr(phases, "PREPARE_S", 0.3)
    monkeypatch.setattr(client, "_PATIENCE_S", 0.2)
    with raises(ClientError, "client-stuck", client=1, phase="start"):
        fleet(GOOD, "trap '' TERM; while :; do sleep 0.05; done")
    assert gone(tmp_path)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ZeroDivisionError])
def test_whoever_interrupts_leaves_no_client(fleet, tmp_path, failure):
    def watch(moment: Moment) -> None:
        raise failure

    with pytest.raises(failure):
        fleet(GOOD, GOOD, watch=watch)
    assert gone(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")
def test_an_client_runs_only_where_it_was_put(fleet, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    wanted = GOOD + f"grep Cpus_allowed_list /proc/self/status > {tmp_path}/where"
    job = Job('{"index": 0}', Place(cpus=(cpu,)))
    fleet(GOOD)  # makes the script
    script = tmp_path / "agent"
    script.write_text(script.read_text().replace(GOOD, wanted))
    run_clients(LocalFleet(), [job], tmp_path, (0.1, 5.0))
    assert (tmp_path / "where").read_text().split()[1] == str(cpu)
