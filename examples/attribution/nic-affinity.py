#!/usr/bin/env python3
"""Placement of a network card's interrupts as a setting: one socket or all (Treadmill, Table III).

    nic-affinity.py DEVICE read                 same-node, all-nodes, or what else is set: "63=0 64=1-3"
    nic-affinity.py DEVICE write LEVEL          any of these

DEVICE is an interface (eth0) or a PCI address (0000:3b:00.0), which also works while the interface is in
another network namespace. Copy the script to /usr/local/sbin: a killed study is undone by its path.
irqbalance moves interrupts back, so stop it first. Needs root, a card with several queues, and two nodes.
"""

import os
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NIC_AFFINITY_ROOT", "/"))  # tests set another root
NODES = ROOT / "sys/devices/system/node"


def device(name: str) -> Path:
    """Return the directory of the PCI device; a virtio interface's is one level higher."""
    pci = ROOT / "sys/bus/pci/devices" / name
    start = pci if pci.exists() else ROOT / "sys/class/net" / name / "device"
    for place in (start, start.resolve().parent):
        if (place / "msi_irqs").is_dir():
            return place
    sys.exit(f"{name} is not an interface or PCI device with its own interrupts (MSI)")


def interrupts(name: str) -> list[int]:
    """Return its interrupts that can be moved."""
    own = sorted(int(entry.name) for entry in (device(name) / "msi_irqs").iterdir())
    return [irq for irq in own if affinity(irq).exists()]


def affinity(irq: int) -> Path:
    """Return the file with the CPUs of an interrupt."""
    return ROOT / f"proc/irq/{irq}/smp_affinity_list"


def processors(listed: str) -> list[int]:
    """Parse a list such as 0-2,8."""
    spans = [part.split("-") for part in listed.strip().split(",") if part]
    return [cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)]


def levels(name: str) -> dict[str, dict[int, str]]:
    """Return the settings of each level: one queue per CPU, of one node or alternating over all nodes."""
    nodes = {
        int(place.name[4:]): processors((place / "cpulist").read_text()) for place in NODES.glob("node[0-9]*")
    }
    nodes = {node: cpus for node, cpus in sorted(nodes.items()) if cpus}
    if len(nodes) < 2:
        sys.exit(f"this machine has {len(nodes)} node(s) with CPUs: same-node and all-nodes are the same")
    home = int((device(name) / "numa_node").read_text())
    own = nodes.get(home, nodes[min(nodes)])
    deepest = max(len(cpus) for cpus in nodes.values())
    every = [cpus[i] for i in range(deepest) for cpus in nodes.values() if i < len(cpus)]
    irqs = interrupts(name)
    return {
        level: {irq: str(cpus[i % len(cpus)]) for i, irq in enumerate(irqs)}
        for level, cpus in (("same-node", own), ("all-nodes", every))
    }


def main() -> None:
    """Read or write the setting."""
    match sys.argv[1:]:
        case [name, "read"]:
            is_now = {irq: affinity(irq).read_text().strip() for irq in interrupts(name)}
            named = [level for level, wanted in levels(name).items() if wanted == is_now]
            print(named[0] if named else " ".join(f"{irq}={cpus}" for irq, cpus in is_now.items()))
        case [name, "write", level]:
            known = levels(name)
            wanted = known[level] if level in known else dict(one.split("=", 1) for one in level.split())
            for irq, cpus in wanted.items():
                affinity(int(irq)).write_text(cpus)
        case _:
            sys.exit(__doc__)


main()
