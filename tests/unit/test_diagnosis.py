"""Interventions of a diagnosis are undone whatever happens to the diagnosis."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from messages import raises
from undoing import undo

from hindmost.core.codes import CODES
from hindmost.core.interventions.changes import File, Pause, Places, Sham, SuspectGone, places, start_ticks
from hindmost.core.interventions.policy import Policy, read_policy
from hindmost.core.interventions.session import start_session
from hindmost.errors import HindmostError, UsageError


@pytest.fixture
def neighbour():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stops_soon(pid: int) -> bool:
    """Return whether the process stops soon; a signal takes effect when its process next has a CPU."""
    end = time.monotonic() + 20
    while state(pid) != "T" and time.monotonic() < end:
        time.sleep(0.005)
    return state(pid) == "T"


def pause(process: "subprocess.Popen[bytes]") -> Pause:
    return Pause(process.pid, "sleep", start_ticks(process.pid))


def test_a_paused_neighbour_continues_after_the_intervention(neighbour, tmp_path):
    suspect = pause(neighbour)
    with start_session(tmp_path / "j") as session, session.journal(suspect):
        with session.remove(suspect):
            assert stops_soon(neighbour.pid)
            assert suspect.is_gone()
        assert state(neighbour.pid) != "T"
    assert (tmp_path / "j" / "knobs.jsonl").read_text() == ""


def test_the_journal_has_the_undo_before_the_change(neighbour, tmp_path):
    suspect = pause(neighbour)
    with start_session(tmp_path / "j") as session, session.journal(suspect):
        assert state(neighbour.pid) != "T"
        (step,) = json.loads((tmp_path / "j" / "knobs.jsonl").read_text())["steps"]
        assert step["do"] == "continue"
        assert [process["pid"] for process in step["processes"]] == [neighbour.pid]


VICTIM = """
import os, sys, time
from pathlib import Path
from hindmost.core.interventions.session import start_session
from hindmost.core.interventions.changes import Pause, start_ticks
pid = int(sys.argv[1])
suspect = Pause(pid, "sleep", start_ticks(pid))
with start_session(Path(sys.argv[2])) as session, session.journal(suspect), session.remove(suspect):
    print("gone", flush=True)
    time.sleep(60)
"""


def test_a_terminated_diagnosis_leaves_the_host_as_it_was(neighbour, tmp_path):
    victim = subprocess.Popen(
        [sys.executable, "-P", "-c", VICTIM, str(neighbour.pid), str(tmp_path / "j")], stdout=subprocess.PIPE
    )
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"gone\n"
    assert stops_soon(neighbour.pid)
    victim.send_signal(signal.SIGTERM)  # SIGKILL: test_diagnosis_procedure.py
    victim.wait()
    victim.stdout.close()
    end = time.monotonic() + 20
    while state(neighbour.pid) == "T" and time.monotonic() < end:
        time.sleep(0.01)
    assert state(neighbour.pid) != "T"


def test_a_stalled_diagnosis_is_undone_in_time(neighbour, tmp_path, monkeypatch):
    monkeypatch.setattr("hindmost.core.interventions.session.LONGEST_S", 0.3)
    suspect = pause(neighbour)
    with start_session(tmp_path / "j") as session, session.journal(suspect), session.remove(suspect):
        assert stops_soon(neighbour.pid)
        end = time.monotonic() + 20
        while state(neighbour.pid) == "T" and time.monotonic() < end:
            time.sleep(0.01)
        assert state(neighbour.pid) != "T"
        assert not suspect.is_gone()


def test_two_diagnoses_at_once_are_refused(tmp_path):
    with (
        start_session(tmp_path / "j"),
        raises(HindmostError, "diagnosis-in-progress", path=str(tmp_path / "j")),
        start_session(tmp_path / "j"),
    ):
        pass


def test_a_neighbour_that_ended_is_reported_as_gone(neighbour):
    suspect = pause(neighbour)
    neighbour.kill()
    neighbour.wait()
    for call in (suspect.remove, lambda: start_ticks(neighbour.pid)):
        with pytest.raises(SuspectGone) as gone:
            call()
        assert (gone.value.note.code, gone.value.note.values) == ("no-such-process", {"pid": neighbour.pid})
    suspect.give_back()


def test_another_process_with_the_same_pid_is_left_alone(neighbour):
    with pytest.raises(SuspectGone) as gone:
        Pause(neighbour.pid, "sleep", 1).remove()
    assert gone.value.note.code == "replaced-process"
    assert state(neighbour.pid) != "T"


def test_a_neighbour_that_dies_while_paused_does_no_harm(neighbour, tmp_path):
    suspect = pause(neighbour)
    with start_session(tmp_path / "j") as session, session.journal(suspect), session.remove(suspect):
        neighbour.kill()
        neighbour.wait()
    assert (tmp_path / "j" / "knobs.jsonl").read_text() == ""


def test_threads_return_to_their_original_cpus(neighbour):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("only one CPU")
    os.sched_setaffinity(neighbour.pid, {cpus[0]})
    suspect = Places("x", "y", places([neighbour.pid]), frozenset(cpus))
    suspect.remove()
    assert suspect.is_gone()
    assert os.sched_getaffinity(neighbour.pid) == set(cpus)
    suspect.remove()
    undo(suspect)
    assert os.sched_getaffinity(neighbour.pid) == {cpus[0]}


def test_a_file_is_restored_by_its_undo(tmp_path):
    path = tmp_path / "cpu.max"
    path.write_text("20000 100000\n")
    suspect = File("quota", "lift it", path, "20000 100000", "max 100000")
    suspect.remove()
    assert suspect.is_gone()
    undo(suspect)
    assert path.read_text().strip() == suspect.found
    path.unlink()
    with pytest.raises(SuspectGone) as gone:
        File("quota", "lift it", tmp_path / "no" / "such", "1", "2").remove()
    assert gone.value.note.code == "no-such-file"


def test_a_sham_changes_nothing_and_reports_success(tmp_path):
    with start_session(tmp_path / "j") as session, session.journal(Sham()), session.remove(Sham()):
        assert Sham().is_gone()


def test_a_policy_is_followed_and_protected_programs_are_never_touched(tmp_path):
    policy_file = tmp_path / "may.toml"
    policy_file.write_text(
        'may = ["pause"]\nneighbours = ["batch*"]\nexcept = ["batch-db"]\nhours = [1, 2]\n'
    )
    policy = read_policy(policy_file)
    assert policy.allows("pause", 1) is None
    assert policy.spares("batch-1") is None
    refusals = {
        "policy-hours": policy.allows("pause", 3),
        "policy-forbids": policy.allows("quota", 1),
        "policy-excepts": policy.spares("batch-db"),
        "policy-omits": policy.spares("web"),
        "protected-program": Policy().spares("sshd"),
    }
    assert {code: note and note.code for code, note in refusals.items()} == {code: code for code in refusals}
    assert CODES.keys() >= refusals.keys()


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ('may = ["destroy"]\n', "bad-value", "may.0"),
        ("hours = [24]\n", "bad-value", "hours.0"),
        ('might = ["pause"]\n', "unknown-key", "might"),
        ("may = \n", "bad-file", None),
    ],
)
def test_an_invalid_policy_is_refused(tmp_path, text, code, key):
    policy_file = tmp_path / "may.toml"
    policy_file.write_text(text)
    with raises(UsageError, code, path=str(policy_file), key=key):
        read_policy(policy_file)
