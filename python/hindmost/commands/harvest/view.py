"""View of ``hindmost harvest``: classes, selected classes, placements, simulations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hindmost.commands.harvest.document import Class, Classes, HarvestSimulation, Placement
from hindmost.present import numbers
from hindmost.present.blocks import Block, Facts, Item, Items, Table, Text, View

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


def classes_view(doc: Classes) -> View:
    """Return the view of tenants and their classes."""
    servers = sum(len(one.servers) for one in doc.tenants)
    days = doc.slots * doc.slot_s / 86_400
    headline = (
        f"{numbers.plural(len(doc.tenants), 'tenant')}, {numbers.plural(servers, 'server')};"
        f" {days:.3g} days of {doc.slot_s:g} s slots"
    )
    columns = [
        Item(
            f"{numbers.plural(one.files, 'file')} as {one.format}: time {one.time}, server {one.server},"
            f" load {one.load} ({one.unit})"
        )
        for one in doc.columns
    ]
    shares = [
        (name, *map(numbers.percent, (one.tenants, one.servers, one.stable)))
        for name, one in doc.shares.items()
    ]
    hidden = len(doc.classes) - SHOWN
    blocks: list[Block] = [
        Items(columns),
        Table(("pattern", "tenants", "servers", "same in both halves"), shares),
        _class_table(list(enumerate(doc.classes))[:SHOWN]),
        Text(f"and {hidden} more: `--json`" if hidden > 0 else ""),
        Items([*_notes(doc, days)]),
    ]
    return View("Classes of tenants", "", "", headline, blocks, schema=doc.schema)


def _class_table(classes: Iterable[tuple[int, Class]]) -> Table:
    rows = [
        (
            str(number),
            one.pattern,
            str(one.tenants),
            f"{one.servers:g}",
            *map(numbers.percent, (one.mean, one.peak, one.confidence)),
        )
        for number, one in classes
    ]
    heads = ("class", "pattern", "tenants", "servers", "mean", "peak", "confidence")
    return Table(heads, rows, "><>>>>>")


def _notes(doc: Classes, days: float) -> Iterator[Item]:
    odd = {
        round(one.period_s / 3600, 1)
        for one in doc.tenants
        if one.period_s and abs(one.period_s - 86_400) > 4_320
    }
    if odd:
        yield Item(f"periods other than a day, in hours: {_few([f'{hours:g}' for hours in sorted(odd)])}")
    if doc.left_out:
        yield Item(
            f"left out because of gaps: {len(doc.left_out)} tenants ({_few(doc.left_out)})",
            hint="a wrong clock can cause such a window: check the times of each server"
            if days > LONGEST_DAYS
            else "a longer --slot bridges infrequent readings",
        )
    if clipped := sum(one.clipped > MOST_CLIPPED for one in doc.tenants):
        yield Item(
            f"{clipped} tenants have readings above 100 %, which count as 100 %",
            hint="a column named cpu is a share, 0 to 1; name it cpu_percent if it is in percent",
        )
    if days > LONGEST_DAYS:
        yield Item(
            f"{days:.3g} days is a long time: check that times are in seconds (not ms) and that clocks agree"
        )
    if len({one.environment for one in doc.tenants}) < ENVIRONMENTS:
        yield Item("fewer than 3 environments: three replicas of a block cannot be in different environments")
    if doc.other_clocks:
        yield Item(
            "left out because their clocks differ from all others:"
            f" {len(doc.other_clocks)} servers ({_few(doc.other_clocks)})"
        )
    if doc.unowned_servers:
        yield Item(f"left out because they belong to no tenant: {doc.unowned_servers} servers")


def _few(names: list[str], most: int = 6) -> str:
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def selection_view(selected: dict[int, Class], wants: float) -> View:
    """Return the view of the classes that were selected for a job, by their numbers."""
    headline = (
        f"{numbers.plural(len(selected), 'class').replace('classs', 'classes')} for {wants:g} cores"
        if selected
        else f"all classes together have no room for {wants:g} cores: the job has to wait"
    )
    return View("Selected classes", "", "", headline, [_class_table(selected.items())])


def placement_view(doc: Placement, classes: Classes, replicas: int) -> View:
    """Return the view of placed blocks: their diversity, the rules met, and the fullest servers."""
    tenant = {server: one.name for one in classes.tenants for server in one.servers}
    diversity = Counter(len({tenant[server] for server in one.servers}) for one in doc.blocks)
    levels = Counter(one.level for one in doc.blocks)
    stored = Counter(server for one in doc.blocks for server in one.servers)
    ((fullest, most),) = stored.most_common(1)
    remarks = [
        f"fullest server: {fullest} with {most} replicas; {stored.total() / len(tenant):.3g} on average"
    ]
    if short := sum(len(one.servers) < replicas for one in doc.blocks):
        remarks.append(f"{short} blocks have fewer replicas: rules, racks and space allow no other server")
    if doc.first_full:
        name, share = doc.first_full
        remarks.append(f"first full tenant: {name}, when {numbers.percent(share)} of all space is in use")
    blocks: list[Block] = [
        Table(
            ("tenants of a block", "blocks"),
            [(str(count), numbers.count(of)) for count, of in sorted(diversity.items(), reverse=True)],
        ),
        Table(
            ("rules met", "blocks"),
            [(LEVELS[level], numbers.count(of)) for level, of in sorted(levels.items())],
        ),
        Items([Item(one) for one in remarks]),
    ]
    headline = f"{numbers.plural(len(doc.blocks), 'block')} of {numbers.plural(replicas, 'replica')}"
    return View("Placement", "", "", headline, blocks)


def simulation_view(doc: HarvestSimulation, what: str) -> View:
    """Return the view of a simulation of `what`."""
    pairs = [
        (name.replace("_", " "), f"{number:,.6g}")
        for name, number in doc.result.items()
        if number is not None
    ]
    return View("Simulation", "", "", f"{doc.kind} of {what}", [Facts(pairs)], schema=doc.schema)
