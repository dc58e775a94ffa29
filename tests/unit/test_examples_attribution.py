"""Example study files can be read; the script of one of them works on a simulated host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rows import each_row

from hindmost.commands.attribute.design import Factor, choose
from hindmost.core.knobs import kind_of
from hindmost.core.plan.factorial import load_study_file

EXAMPLES = Path(__file__).parents[2] / "examples/attribution"
STUDIES = [
    path for path in sorted(EXAMPLES.glob("*.toml")) if "[[factor]]" in path.read_text(encoding="utf-8")
]


@each_row("path", STUDIES, ids=lambda path: path.stem)
def test_example_is_a_study_with_known_knobs_and_a_design(path: Path) -> None:
    study = load_study_file(path)
    for factor in study.factor:
        assert kind_of(factor.setting, factor.name)
    factors = [Factor(one.name, tuple(one.levels)) for one in study.factor]
    assert choose(factors, kind=study.design.kind, forbidden=study.design.forbidden).cells
    if study.target.endswith(".toml"):
        assert (path.parent / study.target).exists()


def write_host(root: Path, nodes: list[str]) -> None:
    """Write a network card with four queues on node 1 into made-up /sys and /proc."""
    for node, cpus in enumerate(nodes):
        place = root / f"sys/devices/system/node/node{node}"
        place.mkdir(parents=True)
        (place / "cpulist").write_text(cpus + "\n")
    card = root / "sys/bus/pci/devices/0000:3b:00.1"
    (card / "msi_irqs").mkdir(parents=True)
    (card / "numa_node").write_text("1\n")
    for irq in (63, 64, 65, 66):
        (card / "msi_irqs" / str(irq)).touch()
        (root / f"proc/irq/{irq}").mkdir(parents=True)
        (root / f"proc/irq/{irq}/smp_affinity_list").write_text("0-7\n")
    interface = root / "sys/class/net/eth1"
    interface.mkdir(parents=True)
    (interface / "device").symlink_to(card)


def affinity(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / "nic-affinity.py", *arguments],
        env=os.environ | {"NIC_AFFINITY_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["0000:3b:00.1", "eth1"])
def test_interrupts_are_moved_and_restored(tmp_path: Path, name: str) -> None:
    write_host(tmp_path, ["0-3", "4-7"])

    def now() -> list[str]:
        return [(tmp_path / f"proc/irq/{irq}/smp_affinity_list").read_text() for irq in (63, 64, 65, 66)]

    original = affinity(tmp_path, name, "read").stdout.strip()
    assert original == "63=0-7 64=0-7 65=0-7 66=0-7"
    for level, cpus in (("same-node", ["4", "5", "6", "7"]), ("all-nodes", ["0", "4", "1", "5"])):
        assert affinity(tmp_path, name, "write", level).returncode == 0
        assert now() == cpus
        assert affinity(tmp_path, name, "read").stdout.strip() == level
    assert affinity(tmp_path, name, "write", original).returncode == 0
    assert now() == ["0-7"] * 4


def test_a_host_without_two_nodes_or_without_the_card_is_refused(tmp_path: Path) -> None:
    write_host(tmp_path, ["0-7"])
    for name, expected in (("eth1", "1"), ("eth9", "eth9")):
        process = affinity(tmp_path, name, "read")
        assert (process.returncode, process.stdout) == (1, "")
        assert expected in process.stderr.split(), process.stderr
