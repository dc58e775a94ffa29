"""Classes and placements in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hindmost.store.harvest import Classes, HarvestSimulation, PlacedBlock

LONGEST_DAYS = 400.0
"""A window above it is likelier a wrong clock, or milliseconds."""
MOST_CLIPPED = 0.05
"""Share of readings above 100 % that measurement alone does not explain."""
ENVIRONMENTS = 3
SHOWN = 25
"""Classes are few; a table of tenants is for machines."""
LEVELS = (
    "a row and a column of the grid each, and no environment twice",
    "a row each, and no environment twice",
    "no environment twice",
    "two replicas in one environment",
    "two replicas with one tenant",
)


def render_classes(found: Classes) -> str:
    """Say which patterns there are, how stable they are, and the classes."""
    days = found["slots"] * found["slot_s"] / 86_400
    servers = sum(len(one["servers"]) for one in found["tenants"])
    lines = [
        f"{len(found['tenants'])} tenants, {servers} servers; {days:.3g} days of {found['slot_s']:g} s slots",
        *(
            f"{one['files']} files as {one['format']}: time {one['time']}, server {one['server']}, load"
            f" {one['load']} ({one['unit']})"
            for one in found["columns"]
        ),
        "",
        "pattern          tenants  servers  same in both halves",
    ]
    for pattern, share in found["shares"].items():
        stable = "-" if share["stable"] is None else f"{share['stable']:.0%}"
        lines.append(f"{pattern:15} {share['tenants']:8.1%} {share['servers']:8.1%}  {stable:>19}")
    lines += ["", "class  pattern        tenants  servers   mean   peak  confidence"]
    for number, one in enumerate(found["classes"][:SHOWN]):
        lines.append(
            f"{number:5}  {one['pattern']:13} {one['tenants']:8} {one['servers']:8g} {one['mean']:6.1%}"
            f" {one['peak']:6.1%} {one['confidence']:11.0%}"
        )
    if len(found["classes"]) > SHOWN:
        lines.append(f"and {len(found['classes']) - SHOWN} more: --json")
    odd = {
        round(one["period_s"] / 3600, 1)
        for one in found["tenants"]
        if one["period_s"] and abs(one["period_s"] - 86_400) > 4_320
    }
    if odd:
        few = ", ".join(f"{hours:g}" for hours in sorted(odd)[:6])
        lines += ["", f"periods that are no day, in hours: {few}{', ...' if len(odd) > 6 else ''}"]
    if found["left_out"]:
        few = ", ".join(found["left_out"][:5])
        lines += ["", f"left out, too much missing: {len(found['left_out'])} tenants ({few})"]
        lines.append(
            "hint: a clock far from the others makes such a window: look at the times of each server"
            if days > LONGEST_DAYS
            else "hint: a longer --slot bridges readings that come seldom"
        )
    clipped = sum(one["clipped"] > MOST_CLIPPED for one in found["tenants"])
    if clipped:
        lines += [
            "",
            f"{clipped} tenants have readings above 100 %, which count as 100 %",
            "hint: a column cpu is a share, 0 to 1; call it cpu_percent where it is in percent",
        ]
    if days > LONGEST_DAYS:
        lines += ["", f"{days:.3g} days are a long time: are times in seconds (not ms), and clocks alike?"]
    if len({one["environment"] for one in found["tenants"]}) < ENVIRONMENTS:
        lines += ["", "fewer than 3 environments: three replicas of a block cannot be kept apart"]
    if found["other_clocks"]:
        few = ", ".join(found["other_clocks"][:5])
        lines.append(
            f"left out, by a clock far from all others: {len(found['other_clocks'])} servers ({few})"
        )
    if found["unowned_servers"]:
        lines.append(f"left out, of no tenant: {found['unowned_servers']} servers")
    return "\n".join(lines) + "\n"


def render_simulation(found: HarvestSimulation, who: str) -> str:
    """Say what was simulated, and what came out."""
    lines = [f"{found['kind']} of {who}"]
    lines += [
        f"  {name.replace('_', ' '):22} {number:,.6g}"
        for name, number in found["result"].items()
        if number is not None
    ]
    return "\n".join(lines) + "\n"


def render_blocks(
    classes: Classes, blocks: Sequence[PlacedBlock], replicas: int, full: tuple[str, float] | None
) -> str:
    """Say how many tenants blocks have, where rules gave way, and which tenant is full first, and when."""
    tenant = {server: one for one in classes["tenants"] for server in one["servers"]}
    diversity = Counter(len({tenant[server]["name"] for server in one["servers"]}) for one in blocks)
    lines = [f"{len(blocks)} blocks of {replicas} replicas"]
    lines += [f"{count:9} with {n} tenants" for n, count in sorted(diversity.items(), reverse=True)]
    lines += ["", "kept:"]
    levels = Counter(one["level"] for one in blocks)
    lines += [f"{count:9} {LEVELS[level]}" for level, count in sorted(levels.items())]
    short = sum(len(one["servers"]) < replicas for one in blocks)
    if short:
        lines += [
            "",
            f"{short} blocks have fewer replicas: no server was left that rules, racks and space allow",
        ]
    fullest = Counter(server for one in blocks for server in one["servers"]).most_common(1)[0]
    mean = sum(len(one["servers"]) for one in blocks) / len(tenant)
    lines += ["", f"fullest server: {fullest[0]} with {fullest[1]} replicas; {mean:.3g} on average"]
    if full:
        lines += [f"first full tenant: {full[0]}, when {full[1]:.0%} of all space is in use"]
    return "\n".join(lines) + "\n"
