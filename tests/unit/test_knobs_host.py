"""Settings of the host inside a study: journalled with their owner, undone on any exit, recovered after a kill."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from messages import raises

from hindmost.cli import main
from hindmost.errors import HindmostError, HostUnfit, UsageError
from hindmost.knobs import recover
from hindmost.knobs.kinds import host
from hindmost.targets import Managed, parse_target

FILES = {
    "proc/sys/kernel/random/boot_id": "6f2f\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/net/core/busy_poll": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "sys/class/net/eth0/queues/rx-0/rps_cpus": "0\n",
    "sys/class/net/eth0/device/msi_irqs/40": "msix\n",
    "proc/irq/40/smp_affinity_list": "0-1\n",
    "ethtool/eth0/rx-usecs": "8\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state3/disable": "0\n",
    "sys/devices/system/cpu/cpu1/cpuidle/state3/disable": "0\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave\n",
}


class Host:
    """A host of files."""

    def __init__(self, root: Path) -> None:
        self.root, self.journal = root, root / "journal"
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

    def knob(self, name: str) -> host.HostKnob:
        target = parse_target("memcached")
        assert isinstance(target, Managed)
        return host.make({"knob": name}, target, self.journal, str(self.root))

    def entries(self) -> list[dict]:
        file = self.journal / "knobs.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def read(self, path: str) -> str:
        return (self.root / path).read_text().strip()

    def recover(self) -> list[dict]:
        return recover(self.journal, str(self.root))


@pytest.fixture
def tree(tmp_path: Path) -> Host:
    return Host(tmp_path)


SWAPPINESS, NO_TURBO = "proc/sys/vm/swappiness", "sys/devices/system/cpu/intel_pstate/no_turbo"


def test_a_setting_holds_inside_and_is_gone_outside(tree) -> None:
    with tree.knob("turbo").before("off"), tree.knob("swappiness").before("10"):
        assert (tree.read(NO_TURBO), tree.read(SWAPPINESS)) == ("1", "10")
        owners = {entry["owner"]["pid"] for entry in tree.entries()}
        assert owners == {os.getpid()}
        assert tree.recover() == [], "its owner lives"
        assert (tree.read(NO_TURBO), tree.read(SWAPPINESS)) == ("1", "10")
    assert (tree.read(NO_TURBO), tree.read(SWAPPINESS)) == ("0", "60")
    assert tree.entries() == []


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_is_undone_however_the_study_ends(tree, failure) -> None:
    with pytest.raises(failure), tree.knob("governor").before("performance"):
        raise failure
    assert tree.read("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor") == "powersave"
    assert tree.entries() == []


def test_what_a_person_set_by_hand_is_found_by_a_study_and_stays(tree, capsys) -> None:
    from hindmost import _engine

    _engine.set_knob("swappiness", "10", str(tree.journal), str(tree.root))
    with tree.knob("swappiness").before("90"):
        assert tree.read(SWAPPINESS) == "90"
    assert tree.read(SWAPPINESS) == "10"
    assert tree.recover() == []
    assert tree.read(SWAPPINESS) == "10"
    done = json.loads(_engine.restore_knobs(str(tree.journal), str(tree.root)))
    assert [one["value"] for one in done] == ["60"]
    assert tree.read(SWAPPINESS) == "60"


VICTIM = """
import signal, sys, time
from pathlib import Path
from hindmost.cli.app import END_SIGNALS, _raise_interrupted
from hindmost.knobs.kinds import host
from hindmost.targets import parse_target
for number in END_SIGNALS:
    signal.signal(number, _raise_interrupted)  # as the command line does
root = Path(sys.argv[1])
knob = host.make({"knob": "swappiness"}, parse_target("memcached"), root / "journal", str(root))
with knob.before(sys.argv[2]):
    print("set", flush=True)
    time.sleep(600)
"""


def ended_while_it_held(tree: Host, level: str, number: int) -> None:
    words = [sys.executable, "-c", VICTIM, str(tree.root), level]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "set\n"
        assert tree.read(SWAPPINESS) == level
        held = {"name": "swappiness", "pid": victim.pid}
        with raises(HindmostError, "setting-in-use", **held), tree.knob("swappiness").before("1"):
            pass
        assert tree.read(SWAPPINESS) == level, "what another study holds is left alone"
        victim.send_signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_study_that_is_asked_to_end_puts_everything_back_itself(tree, number) -> None:
    ended_while_it_held(tree, "7", number)
    assert tree.read(SWAPPINESS) == "60"
    assert tree.entries() == []


def test_what_a_killed_study_left_is_undone_by_the_next(tree) -> None:
    ended_while_it_held(tree, "7", signal.SIGKILL)
    assert tree.read(SWAPPINESS) == "7"
    assert tree.recover() == [{"name": "swappiness", "value": "60", "failure": None}]
    assert tree.read(SWAPPINESS) == "60"
    assert tree.recover() == []


def test_a_setting_of_a_dead_owner_is_never_taken_for_what_was_found(tree) -> None:
    ended_while_it_held(tree, "7", signal.SIGKILL)
    with tree.knob("swappiness").before("90"):
        assert tree.read(SWAPPINESS) == "90"
    assert tree.read(SWAPPINESS) == "60"


def test_what_cannot_be_restored_is_reported_and_stays_in_the_journal(tree) -> None:
    knob = tree.knob("swappiness")
    with raises(HindmostError, "not-restored", names=["swappiness"]), knob.before("10"):
        (tree.root / SWAPPINESS).unlink()
    assert len(tree.entries()) == 1
    (tree.root / SWAPPINESS).write_text("10\n")
    with knob.before("20"):
        assert tree.read(SWAPPINESS) == "20"
    assert tree.read(SWAPPINESS) == "60"


class OwnFailure(Exception):
    """A failure of the study itself."""


def test_a_failure_in_the_body_is_not_hidden_by_one_of_the_undo(tree) -> None:
    def spoil() -> None:
        (tree.root / SWAPPINESS).unlink()
        raise OwnFailure

    with pytest.raises(OwnFailure) as caught, tree.knob("swappiness").before("10"):
        spoil()
    (note,) = caught.value.__notes__
    assert "swappiness" in note


def test_a_level_that_does_not_verify_is_refused_and_taken_back(tree) -> None:
    governor = tree.root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
    governor.unlink()
    governor.symlink_to("/dev/null")  # takes everything, and is empty whenever it is read
    with (
        raises(HostUnfit, "setting-differs", name="governor", value="performance"),
        tree.knob("governor").before("performance"),
    ):
        pytest.fail("the body must not run")
    assert tree.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") == "powersave"
    assert tree.entries() == []


@pytest.mark.parametrize(
    ("name", "level", "kind", "code"),
    [
        ("governor", "turbo", UsageError, "bad-value"),
        ("thp", "sometimes", UsageError, "bad-value"),
        ("rps@eth0", "both", UsageError, "bad-value"),
        ("boost", "on", HostUnfit, "setting-unavailable"),
    ],
)
def test_a_level_is_checked_before_anything_starts(tree, name, level, kind, code) -> None:
    with raises(kind, code, name=name, value=level):
        tree.knob(name).check(level)
    assert not tree.journal.exists()


def test_knobs_that_share_files_meet(tree) -> None:
    assert tree.knob("turbo").sets == {"host:turbo"}
    assert not tree.knob("turbo").sets & tree.knob("governor").sets
    assert tree.knob("irqs@eth0").sets == tree.knob("irq@40").sets == {"host:irqs@eth0", "host:irq@40"}


@pytest.mark.parametrize(
    ("name", "level", "path", "written"),
    [
        ("turbo", "off", NO_TURBO, "1"),
        ("governor", "performance", "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance"),
        ("cstate@state3", "off", "sys/devices/system/cpu/cpu1/cpuidle/state3/disable", "1"),
        ("irqs@eth0", "1", "proc/irq/40/smp_affinity_list", "1"),
        ("rps@eth0", "2", "sys/class/net/eth0/queues/rx-0/rps_cpus", "2"),
        ("rx_usecs@eth0", "0", "ethtool/eth0/rx-usecs", "0"),
    ],
)
def test_hardware_that_is_absent_here_is_set_and_put_back_in_a_tree(tree, name, level, path, written) -> None:
    before = tree.read(path)
    knob = tree.knob(name)
    knob.check(level)
    with knob.before(level):
        assert tree.read(path) == written
    assert tree.read(path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings")
@pytest.mark.parametrize(
    ("name", "level", "other"),
    [
        ("thp", "never", "always"),
        ("busy_poll", "50", "0"),
        ("tcp_autocorking", "off", "on"),
        ("swappiness", "10", "60"),
        ("rps@lo", "1", "0"),
        ("tcp_rmem", "4096 131072 6291456", "4096 65536 6291456"),
    ],
)
def test_this_kernel_is_set_and_put_back(tmp_path, capsys, name, level, other) -> None:
    target = parse_target("memcached")
    assert isinstance(target, Managed)
    try:
        knob = host.make({"knob": name}, target, tmp_path)
        knob.check(level)
    except HindmostError as refusal:
        pytest.skip(f"{refusal}")

    def value() -> str:
        assert main(["host", "knobs", "get", name, "--json", "--journal", str(tmp_path)]) == 0
        return str(json.loads(capsys.readouterr().out)["knobs"][0]["value"]).replace("\t", " ")

    found = value()
    for wanted in (level, other, level):
        with knob.before(wanted):
            assert value() == wanted
        assert value() == found
