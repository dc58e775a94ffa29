"""Hardware suspects on a made-up /sys and /proc; the files are really written."""

import os
import subprocess
from pathlib import Path

import pytest
from undoing import undo

from hindmost.commands.diagnose import hardware
from hindmost.commands.diagnose.hardware import find_hardware
from hindmost.core.interventions.changes import File
from hindmost.core.interventions.file_set import FileSet
from hindmost.core.interventions.policy import ASKED_FOR, TOUCHES, Policy

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


def suspects_by_name(root, own=()):
    return {suspect.name: (touch, suspect) for touch, suspect, _ in find_hardware(list(own), root)}


def processor(cap="2000000", governor="powersave", available="performance powersave"):
    return {
        f"{CPU}/cpufreq/policy{number}/{name}": value
        for number in (0, 1)
        for name, value in (
            ("cpuinfo_max_freq", "3000000"),
            ("scaling_max_freq", cap),
            ("scaling_governor", governor),
            ("scaling_available_governors", available),
        )
    }


def test_a_frequency_cap_is_lifted_on_all_cpus_and_restored(tmp_path):
    suspects = suspects_by_name(write_files(tmp_path, processor()))
    assert {name: touch for name, (touch, _) in suspects.items()} == {
        "frequency cap": "frequency",
        "frequency governor": "frequency",
    }
    for name, file, before, lifted in (
        ("frequency cap", "scaling_max_freq", "2000000", "3000000"),
        ("frequency governor", "scaling_governor", "powersave", "performance"),
    ):
        suspect = suspects[name][1]
        paths = [tmp_path / f"{CPU}/cpufreq/policy{number}/{file}" for number in (0, 1)]
        suspect.remove()
        assert suspect.is_gone()
        assert {path.read_text().strip() for path in paths} == {lifted}
        suspect.give_back()
        assert {path.read_text().strip() for path in paths} == {before}
        suspect.remove()
        undo(suspect)
        assert {path.read_text().strip() for path in paths} == {before}


def test_cpus_at_full_frequency_are_no_suspects(tmp_path):
    assert suspects_by_name(write_files(tmp_path, processor(cap="3000000", governor="performance"))) == {}
    assert (
        suspects_by_name(write_files(tmp_path, processor(cap="3000000", available="powersave schedutil")))
        == {}
    )


@pytest.mark.parametrize(
    ("place", "off", "on"), [("intel_pstate/no_turbo", "1", "0"), ("cpufreq/boost", "0", "1")]
)
def test_disabled_turbo_is_enabled(tmp_path, place, off, on):
    ((name, (touch, suspect)),) = suspects_by_name(write_files(tmp_path, {f"{CPU}/{place}": off})).items()
    assert (name, touch) == ("turbo", "frequency")
    suspect.remove()
    assert (tmp_path / CPU / place).read_text().strip() == on
    assert suspects_by_name(tmp_path) == {}


def test_a_missing_file_does_not_prevent_the_restoration_of_others(tmp_path):
    write_files(tmp_path, {"a": "1", "b": "1"})
    files = FileSet("x", "y", tuple(File(name, "", tmp_path / name, "1", "2") for name in ("a", "b")))
    files.remove()
    (tmp_path / "a").unlink()
    files.give_back()
    assert (tmp_path / "b").read_text().strip() == "1"
    assert not files.is_gone()


@pytest.fixture
def pinned_process():
    """A process that is pinned to one of several CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("only one CPU")
    with subprocess.Popen(["sleep", "60"]) as process:
        os.sched_setaffinity(process.pid, {cpus[0]})
        yield process.pid, cpus
        process.kill()


def test_an_application_is_moved_to_the_node_of_its_memory(tmp_path, pinned_process, monkeypatch):
    monkeypatch.setattr(hardware.time, "sleep", lambda _: None)
    pid, cpus = pinned_process
    write_files(
        tmp_path,
        {
            f"{NODE}/node0/cpulist": str(cpus[0]),
            f"{NODE}/node1/cpulist": str(cpus[1]),
            f"proc/{pid}/numa_maps": "7f00 default anon=9 N0=20 N1=80\n7f01 default file=/lib N1=10",
        },
    )
    touch, suspect = suspects_by_name(tmp_path, [pid])["memory on another node"]
    assert touch == "numa"
    assert "82%" in suspect.description
    suspect.remove()
    assert os.sched_getaffinity(pid) == {cpus[1]}
    suspect.give_back()
    assert os.sched_getaffinity(pid) == {cpus[0]}
    write_files(tmp_path, {f"proc/{pid}/numa_maps": "7f00 default anon=9 N0=80 N1=20"})
    assert suspects_by_name(tmp_path, [pid]) == {}


def test_busy_interrupts_are_moved_away_from_the_application(tmp_path, pinned_process, monkeypatch):
    pid, cpus = pinned_process
    head = "".join(f"  CPU{cpu}" for cpu in range(max(cpus) + 1))

    def table(busy: int) -> str:
        rows = {30: busy, 31: 5}
        lines = [
            f" {number}: "
            + " ".join(str(n if cpu == cpus[0] else 0) for cpu in range(max(cpus) + 1))
            + " PCI-MSI x"
            for number, n in rows.items()
        ]
        return "\n".join([head, *lines, "NMI: 0 0"])

    write_files(tmp_path, {"proc/interrupts": table(0), "proc/irq/30/smp_affinity_list": str(cpus[0])})
    monkeypatch.setattr(
        hardware.time, "sleep", lambda _: write_files(tmp_path, {"proc/interrupts": table(900)})
    )
    touch, suspect = suspects_by_name(tmp_path, [pid])["interrupts of devices"]
    assert touch == "interrupts"
    suspect.remove()
    path = tmp_path / "proc/irq/30/smp_affinity_list"
    assert path.read_text().strip() == ",".join(map(str, cpus[1:]))
    suspect.give_back()
    assert path.read_text().strip() == str(cpus[0])


def test_interrupts_are_changed_only_if_a_policy_names_them():
    refusal = Policy().allows("interrupts", 1)
    assert refusal is not None
    assert (refusal.code, refusal.values) == ("policy-forbids", {"touch": "interrupts"})
    assert Policy(may=["interrupts"]).allows("interrupts", 1) is None
    assert all(Policy().allows(touch, 1) is None for touch in TOUCHES if touch not in ASKED_FOR)
