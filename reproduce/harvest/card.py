"""Each figure of chapter IV next to our result over several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reproduce.harvest.document import Card, CardEntry
from reproduce.harvest.figures import ablation, availability, durability, scheduling
from reproduce.harvest.figures.result import FigureResult, entry
from reproduce.harvest.sweeps import Sweep

UNDECIDABLE = "undecidable from public data"
FIGURES: tuple[Callable[[Sweep], FigureResult], ...] = (
    scheduling.execution_times,
    scheduling.by_center,
    durability.lost_blocks,
    availability.failed_accesses,
    availability.repair_traffic,
    ablation.waves,
    ablation.correlation,
    ablation.repair_rate,
)
"""The simulated figures, in the order of the chapter; figures that are not in the chapter come last."""


def card(seeds: int = 5, servers: int = 1000, said: Callable[[str], None] = lambda _: None) -> Card:
    """Simulate every figure.

    Parameters
    ----------
    seeds : int
        Data centers drawn for each point.
    servers : int
        Servers of each data center.
    said : callable, optional
        Called with a line of text for each finished figure.
    """
    sweep = Sweep(seeds, servers)
    found: Card = {
        "seeds": seeds,
        "servers": servers,
        "entries": [*unavailable_figures()],
        "curves": [],
    }
    for figure in FIGURES:
        one = figure(sweep)
        found["entries"].append(one.entry)
        found["curves"] += one.curves
        said(f"{one.entry['figure']}: {one.entry['verdict']}")
    return found


def unavailable_figures() -> Iterator[CardEntry]:
    """Yield the figures that need the original records of the ten data centers, or their test bed."""
    records = "the records of ten data centers are not public; synthetic ones follow the published ranges"
    bed = "needs 102 servers under load; HDFS-H is shown on mini clusters instead (setup/hadoop.sh)"
    yield entry("4.2, 4.3", "periodic: few tenants, 40 % of servers", records, UNDECIDABLE)
    yield entry("4.4 to 4.6", "90 % of servers reimaged once a month or less", records, UNDECIDABLE)
    yield entry("4.10 to 4.12", "YARN-H and HDFS-H keep Lucene's p99", bed, "not attempted")


def render_card(card: Card) -> str:
    """Write the card as Markdown: one row for each figure."""
    rows = [
        f"| {one['figure']} | {one['paper']} | {one['ours']} | {one['verdict']} |" for one in card["entries"]
    ]
    head = ["| figure | paper | here | verdict |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"
