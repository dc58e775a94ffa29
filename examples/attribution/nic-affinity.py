#!/usr/bin/env python3
"""Where a network card's interrupts go, as a knob: one socket, or all of them (Treadmill, Table III).

    nic-affinity.py DEVICE read                 same-node, all-nodes, or what else is set: "63=0 64=1-3"
    nic-affinity.py DEVICE write LEVEL          any of these

DEVICE is an interface (eth0) or a PCI address (0000:3b:00.0), which also works while the interface is in
another network namespace. Copy it to /usr/local/sbin: a study that is killed is put right by its path.
irqbalance moves interrupts back, so stop it first. Needs root, a card with several queues, and two nodes.
"""

import os
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NIC_AFFINITY_ROOT", "/"))  # a test's tree
NODES = ROOT / "sys/devices/system/node"


def device(name: str) -> Path:
    """The directory of the PCI device; a virtio interface's is one further up."""
    pci = ROOT / "sys/bus/pci/devices" / name
    start = pci if pci.exists() else ROOT / "sys/class/net" / name / "device"
    for place in (start, start.resolve().parent):
        if (place / "msi_irqs").is_dir():
            return place
    sys.exit(f"{name} is no interface or PCI device with interrupts of its own (MSI)")


def interrupts(name: str) -> list[int]:
    """Its interrupts, as far as they can be moved."""
    own = sorted(int(entry.name) for entry in (device(name) / "msi_irqs").iterdir())
    return [irq for irq in own if affinity(irq).exists()]


def affinity(irq: int) -> Path:
    """The file that says which processors take it."""
    return ROOT / f"proc/irq/{irq}/smp_affinity_list"


def processors(listed: str) -> list[int]:
    """0-2,8 as numbers."""
    spans = [part.split("-") for part in listed.strip().split(",") if part]
    return [cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)]


def levels(name: str) -> dict[str, dict[int, str]]:
    """What each level sets: queue after queue on the next processor, of one node or of all in turn."""
    nodes = {
        int(place.name[4:]): processors((place / "cpulist").read_text()) for place in NODES.glob("node[0-9]*")
    }
    nodes = {node: cpus for node, cpus in sorted(nodes.items()) if cpus}
    if len(nodes) < 2:
        sys.exit(
            f"this machine has {len(nodes)} node(s) with processors: same-node and all-nodes are the same"
        )
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
    """Read or write."""
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
