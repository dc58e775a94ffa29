"""Host settings of a study: journalled with their owner, undone on every exit, recovered after a kill."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from messages import raises

from hindmost.cli import main
from hindmost.core.knobs import recover
from hindmost.core.knobs.kinds import host
from hindmost.core.store.engine import Restored
from hindmost.core.targets import Managed, parse_target
from hindmost.errors import HindmostError, HostUnfit, UsageError

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
    """A host made of files."""

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

    def recover(self) -> list[Restored]:
        return recover(self.journal, str(self.root))


@pytest.fixture
def host_tree(tmp_path: Path) -> Host:
    return Host(tmp_path)


SWAPPINESS, NO_TURBO = "proc/sys/vm/swappiness", "sys/devices/system/cpu/intel_pstate/no_turbo"


def test_a_setting_is_in_force_inside_the_context_only(host_tree) -> None:
    with host_tree.knob("turbo").before("off"), host_tree.knob("swappiness").before("10"):
        assert (host_tree.read(NO_TURBO), host_tree.read(SWAPPINESS)) == ("1", "10")
        owners = {entry["owner"]["pid"] for entry in host_tree.entries()}
        assert owners == {os.getpid()}
        assert host_tree.recover() == [], "its owner is alive"
        assert (host_tree.read(NO_TURBO), host_tree.read(SWAPPINESS)) == ("1", "10")
    assert (host_tree.read(NO_TURBO), host_tree.read(SWAPPINESS)) == ("0", "60")
    assert host_tree.entries() == []


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_setting_is_undone_however_the_study_ends(host_tree, failure) -> None:
    with pytest.raises(failure), host_tree.knob("governor").before("performance"):
        raise failure
    assert host_tree.read("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor") == "powersave"
    assert host_tree.entries() == []


def test_a_study_restores_a_value_that_was_set_by_hand(host_tree, capsys) -> None:
    from hindmost import _engine

    _engine.set_knob("swappiness", "10", str(host_tree.journal), str(host_tree.root))
    with host_tree.knob("swappiness").before("90"):
        assert host_tree.read(SWAPPINESS) == "90"
    assert host_tree.read(SWAPPINESS) == "10"
    assert host_tree.recover() == []
    assert host_tree.read(SWAPPINESS) == "10"
    restored = json.loads(_engine.restore_knobs(str(host_tree.journal), str(host_tree.root)))
    assert [setting["value"] for setting in restored] == ["60"]
    assert host_tree.read(SWAPPINESS) == "60"


VICTIM = """
import signal, sys, time
from pathlib import Path
from hindmost.cli.app import END_SIGNALS, _raise_interrupted
from hindmost.core.knobs.kinds import host
from hindmost.core.targets import parse_target
for number in END_SIGNALS:
    signal.signal(number, _raise_interrupted)  # as the command line does
root = Path(sys.argv[1])
knob = host.make({"knob": "swappiness"}, parse_target("memcached"), root / "journal", str(root))
with knob.before(sys.argv[2]):
    print("set", flush=True)
    time.sleep(600)
"""


def end_study(host_tree: Host, level: str, number: int) -> None:
    command = [sys.executable, "-c", VICTIM, str(host_tree.root), level]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "set\n"
        assert host_tree.read(SWAPPINESS) == level
        owner = {"name": "swappiness", "pid": victim.pid}
        with raises(HindmostError, "setting-in-use", **owner), host_tree.knob("swappiness").before("1"):
            pass
        assert host_tree.read(SWAPPINESS) == level, "a setting of another study is left alone"
        victim.send_signal(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_study_restores_everything_itself(host_tree, number) -> None:
    end_study(host_tree, "7", number)
    assert host_tree.read(SWAPPINESS) == "60"
    assert host_tree.entries() == []


def test_settings_of_a_killed_study_are_undone_by_the_next(host_tree) -> None:
    end_study(host_tree, "7", signal.SIGKILL)
    assert host_tree.read(SWAPPINESS) == "7"
    assert host_tree.recover() == [Restored(name="swappiness", value="60", failure=None)]
    assert host_tree.read(SWAPPINESS) == "60"
    assert host_tree.recover() == []


def test_a_setting_of_a_killed_study_is_never_taken_for_the_original(host_tree) -> None:
    end_study(host_tree, "7", signal.SIGKILL)
    with host_tree.knob("swappiness").before("90"):
        assert host_tree.read(SWAPPINESS) == "90"
    assert host_tree.read(SWAPPINESS) == "60"


def test_a_setting_that_cannot_be_restored_stays_in_the_journal(host_tree) -> None:
    knob = host_tree.knob("swappiness")
    with raises(HindmostError, "not-restored", names=["swappiness"]), knob.before("10"):
        (host_tree.root / SWAPPINESS).unlink()
    assert len(host_tree.entries()) == 1
    (host_tree.root / SWAPPINESS).write_text("10\n")
    with knob.before("20"):
        assert host_tree.read(SWAPPINESS) == "20"
    assert host_tree.read(SWAPPINESS) == "60"


class OwnFailure(Exception):
    """A failure of the study itself."""


def test_a_failure_of_the_undo_does_not_hide_one_of_the_study(host_tree) -> None:
    def fail() -> None:
        (host_tree.root / SWAPPINESS).unlink()
        raise OwnFailure

    with pytest.raises(OwnFailure) as caught, host_tree.knob("swappiness").before("10"):
        fail()
    (note,) = caught.value.__notes__
    assert "swappiness" in note


def test_a_level_that_is_not_in_force_is_refused_and_undone(host_tree) -> None:
    governor = host_tree.root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
    governor.unlink()
    governor.symlink_to("/dev/null")  # accepts every write and is always read as empty
    with (
        raises(HostUnfit, "setting-differs", name="governor", value="performance"),
        host_tree.knob("governor").before("performance"),
    ):
        pytest.fail("the body must not run")
    assert host_tree.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") == "powersave"
    assert host_tree.entries() == []


@pytest.mark.parametrize(
    ("name", "level", "kind", "code"),
    [
        ("governor", "turbo", UsageError, "bad-value"),
        ("thp", "sometimes", UsageError, "bad-value"),
        ("rps@eth0", "both", UsageError, "bad-value"),
        ("boost", "on", HostUnfit, "setting-unavailable"),
    ],
)
def test_a_level_is_checked_before_anything_starts(host_tree, name, level, kind, code) -> None:
    with raises(kind, code, name=name, value=level):
        host_tree.knob(name).check(level)
    assert not host_tree.journal.exists()


def test_knobs_that_share_files_have_common_settings(host_tree) -> None:
    assert host_tree.knob("turbo").sets == {"host:turbo"}
    assert not host_tree.knob("turbo").sets & host_tree.knob("governor").sets
    assert (
        host_tree.knob("irqs@eth0").sets == host_tree.knob("irq@40").sets == {"host:irqs@eth0", "host:irq@40"}
    )


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
def test_settings_of_made_up_hardware_are_set_and_restored(host_tree, name, level, path, written) -> None:
    before = host_tree.read(path)
    knob = host_tree.knob(name)
    knob.check(level)
    with knob.before(level):
        assert host_tree.read(path) == written
    assert host_tree.read(path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change settings")
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
def test_settings_of_this_kernel_are_set_and_restored(tmp_path, capsys, name, level, other) -> None:
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

    original = value()
    for new_value in (level, other, level):
        with knob.before(new_value):
            assert value() == new_value
        assert value() == original
