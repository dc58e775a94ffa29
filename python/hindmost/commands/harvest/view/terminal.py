"""Classes, placements and simulations, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hindmost.commands.harvest.document import Classes, HarvestSimulation, PlacedBlock

LONGEST_DAYS = 400.0
"""A longer window is probably a wrong clock, or times in milliseconds."""
MOST_CLIPPED = 0.05
"""Share of readings above 100 % that measurement error alone does not explain."""
ENVIRONMENTS = 3
SHOWN = 25
"""Number of classes shown. A complete table is available as JSON."""
LEVELS = (
    "different rows and columns of the grid, and different environments",
    "different rows, and different environments",
    "different environments",
    "two replicas in one environment",
    "two replicas with one tenant",
)


def render_classes(found: Classes) -> str:
    """Render the patterns, their stability and the classes."""
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
        lines += ["", f"periods other than a day, in hours: {few}{', ...' if len(odd) > 6 else ''}"]
    if found["left_out"]:
        few = ", ".join(found["left_out"][:5])
        lines += ["", f"left out because of gaps: {len(found['left_out'])} tenants ({few})"]
        lines.append(
            "hint: a wrong clock can cause such a window: check the times of each server"
            if days > LONGEST_DAYS
            else "hint: a longer --slot bridges infrequent readings"
        )
    clipped = sum(one["clipped"] > MOST_CLIPPED for one in found["tenants"])
    if clipped:
        lines += [
            "",
            f"{clipped} tenants have readings above 100 %, which count as 100 %",
            "hint: a column named cpu is a share, 0 to 1; name it cpu_percent if it is in percent",
        ]
    if days > LONGEST_DAYS:
        lines += [
            "",
            f"{days:.3g} days is a long time: check that times are in seconds (not ms) and that clocks agree",
        ]
    if len({one["environment"] for one in found["tenants"]}) < ENVIRONMENTS:
        lines += [
            "",
            "fewer than 3 environments: three replicas of a block cannot be in different environments",
        ]
    if found["other_clocks"]:
        few = ", ".join(found["other_clocks"][:5])
        lines.append(
            f"left out because their clocks differ from all others: {len(found['other_clocks'])} servers"
            f" ({few})"
        )
    if found["unowned_servers"]:
        lines.append(f"left out because they belong to no tenant: {found['unowned_servers']} servers")
    return "\n".join(lines) + "\n"


def render_simulation(found: HarvestSimulation, who: str) -> str:
    """Render what was simulated, and the results."""
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
    """Render the diversity of blocks, relaxed rules, and the first tenant to fill up."""
    tenant = {server: one for one in classes["tenants"] for server in one["servers"]}
    diversity = Counter(len({tenant[server]["name"] for server in one["servers"]}) for one in blocks)
    lines = [f"{len(blocks)} blocks of {replicas} replicas"]
    lines += [f"{count:9} with {n} tenants" for n, count in sorted(diversity.items(), reverse=True)]
    lines += ["", "rules met:"]
    levels = Counter(one["level"] for one in blocks)
    lines += [f"{count:9} {LEVELS[level]}" for level, count in sorted(levels.items())]
    short = sum(len(one["servers"]) < replicas for one in blocks)
    if short:
        lines += [
            "",
            f"{short} blocks have fewer replicas: rules, racks and space allow no other server",
        ]
    fullest = Counter(server for one in blocks for server in one["servers"]).most_common(1)[0]
    mean = sum(len(one["servers"]) for one in blocks) / len(tenant)
    lines += ["", f"fullest server: {fullest[0]} with {fullest[1]} replicas; {mean:.3g} on average"]
    if full:
        lines += [f"first full tenant: {full[0]}, when {full[1]:.0%} of all space is in use"]
    return "\n".join(lines) + "\n"
