"""Suspects that this machine may not have: a made-up /sys and /proc has them, and files are really written."""

import os
import subprocess
from pathlib import Path

import pytest
from undoing import undo

from hindmost.interventions.changes import File
from hindmost.interventions.file_set import FileSet
from hindmost.studies.diagnosis import hardware
from hindmost.studies.diagnosis.hardware import find_hardware
from hindmost.studies.diagnosis.policy import TOUCHES, Policy

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


def offers(root, own=()):
    return {one.name: (touch, one) for touch, one, _ in find_hardware(list(own), root)}


def processor(cap="2000000", governor="powersave", able="performance powersave"):
    return {
        f"{CPU}/cpufreq/policy{number}/{name}": value
        for number in (0, 1)
        for name, value in (
            ("cpuinfo_max_freq", "3000000"),
            ("scaling_max_freq", cap),
            ("scaling_governor", governor),
            ("scaling_available_governors", able),
        )
    }


def test_a_capped_frequency_is_lifted_on_all_processors_and_comes_back(tmp_path):
    found = offers(put(tmp_path, processor()))
    assert {name: touch for name, (touch, _) in found.items()} == {
        "frequency cap": "frequency",
        "frequency governor": "frequency",
    }
    for name, file, before, lifted in (
        ("frequency cap", "scaling_max_freq", "2000000", "3000000"),
        ("frequency governor", "scaling_governor", "powersave", "performance"),
    ):
        one = found[name][1]
        paths = [tmp_path / f"{CPU}/cpufreq/policy{number}/{file}" for number in (0, 1)]
        one.remove()
        assert one.is_gone()
        assert {path.read_text().strip() for path in paths} == {lifted}
        one.give_back()
        assert {path.read_text().strip() for path in paths} == {before}
        one.remove()
        undo(one)
        assert {path.read_text().strip() for path in paths} == {before}


def test_processors_that_run_as_fast_as_they_can_are_no_suspects(tmp_path):
    assert offers(put(tmp_path, processor(cap="3000000", governor="performance"))) == {}
    assert offers(put(tmp_path, processor(cap="3000000", able="powersave schedutil"))) == {}


@pytest.mark.parametrize(
    ("place", "off", "on"), [("intel_pstate/no_turbo", "1", "0"), ("cpufreq/boost", "0", "1")]
)
def test_turbo_that_is_off_is_allowed(tmp_path, place, off, on):
    ((name, (touch, one)),) = offers(put(tmp_path, {f"{CPU}/{place}": off})).items()
    assert (name, touch) == ("turbo", "frequency")
    one.remove()
    assert (tmp_path / CPU / place).read_text().strip() == on
    assert offers(tmp_path) == {}


def test_a_processor_that_is_taken_offline_keeps_the_others_from_nothing(tmp_path):
    put(tmp_path, {"a": "1", "b": "1"})
    both = FileSet("x", "y", tuple(File(name, "", tmp_path / name, "1", "2") for name in ("a", "b")))
    both.remove()
    (tmp_path / "a").unlink()
    both.give_back()
    assert (tmp_path / "b").read_text().strip() == "1"
    assert not both.is_gone()


@pytest.fixture
def pinned():
    """A process that is held on one processor of several."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one processor")
    with subprocess.Popen(["sleep", "60"]) as process:
        os.sched_setaffinity(process.pid, {cpus[0]})
        yield process.pid, cpus
        process.kill()


def test_memory_on_another_node_has_its_application_run_there(tmp_path, pinned, monkeypatch):
    monkeypatch.setattr(hardware.time, "sleep", lambda _: None)
    pid, cpus = pinned
    put(
        tmp_path,
        {
            f"{NODE}/node0/cpulist": str(cpus[0]),
            f"{NODE}/node1/cpulist": str(cpus[1]),
            f"proc/{pid}/numa_maps": "7f00 default anon=9 N0=20 N1=80\n7f01 default file=/lib N1=10",
        },
    )
    touch, one = offers(tmp_path, [pid])["memory on another node"]
    assert touch == "numa"
    assert "82%" in one.description
    one.remove()
    assert os.sched_getaffinity(pid) == {cpus[1]}
    one.give_back()
    assert os.sched_getaffinity(pid) == {cpus[0]}
    put(tmp_path, {f"proc/{pid}/numa_maps": "7f00 default anon=9 N0=80 N1=20"})
    assert offers(tmp_path, [pid]) == {}


def test_busy_interrupts_where_the_application_runs_are_moved(tmp_path, pinned, monkeypatch):
    pid, cpus = pinned
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

    put(tmp_path, {"proc/interrupts": table(0), "proc/irq/30/smp_affinity_list": str(cpus[0])})
    monkeypatch.setattr(hardware.time, "sleep", lambda _: put(tmp_path, {"proc/interrupts": table(900)}))
    touch, one = offers(tmp_path, [pid])["interrupts of devices"]
    assert touch == "interrupts"
    one.remove()
    path = tmp_path / "proc/irq/30/smp_affinity_list"
    assert path.read_text().strip() == ",".join(map(str, cpus[1:]))
    one.give_back()
    assert path.read_text().strip() == str(cpus[0])


def test_interrupts_are_touched_only_where_a_policy_names_them():
    refused = Policy().allows("interrupts", 1)
    assert refused is not None
    assert (refused.code, refused.values) == ("policy-forbids", {"touch": "interrupts"})
    assert Policy(may=["interrupts"]).allows("interrupts", 1) is None
    assert all(Policy().allows(touch, 1) is None for touch in TOUCHES if touch != "interrupts")
