"""View of a profile: functions of the slow requests, or where they waited, and a differential flame graph."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from hindmost.core.tracing.document import FunctionShare, Profile
from hindmost.core.tracing.profile import describe_function
from hindmost.present import numbers
from hindmost.present.blocks import Block, Chart, Only, Section, Table, Text
from hindmost.present.svg import Plot

TERMINAL, PAGE = 6, 20
"""Most functions in the terminal, and on the page."""
LEAST_SHARE = 0.005
"""Share of the time, of all or of the slowest requests, from which a function is shown."""
NAME = 40
"""Most characters of a function's name in the terminal."""
ROW = 17.0
LEAST_WIDTH = 0.6
"""Narrowest box that is drawn, pixels."""
DIFFERENCES = (0.01, 0.05, 0.2)
"""Differences of shares from which a box has a stronger colour."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Words for one kind of profile; `title` is also the title of its flame graph."""

    id: str
    title: str
    time: str
    counted: str


EXECUTED = Wording("profile", "What the slow requests executed", "CPU time", "samples of the stack")
WAITED = Wording("waits", "Where the slow requests waited", "time asleep", "waits")


def profile_section(profile: Profile) -> Section:
    """Return the section about the functions of the slowest requests."""
    return _section(profile, EXECUTED)


def waits_section(waits: Profile) -> Section:
    """Return the section about where the slowest requests waited."""
    return _section(waits, WAITED)


def _section(profile: Profile, words: Wording) -> Section:
    return Section(words.title, list(_blocks(profile, words)), words.id)


def _blocks(profile: Profile, words: Wording) -> Iterator[Block]:
    slow, every = profile.slowest, profile.all
    if not slow.samples:
        return
    yield Text(
        f"One of the slowest {numbers.count(slow.requests)} requests took {numbers.number(slow.time_us)} µs"
        f" of its thread's {words.time}, and an average request {numbers.number(every.time_us)} µs"
        f" ({numbers.count(slow.samples)} and {numbers.count(every.samples)} {words.counted})."
        f" {_percent(profile.of_variance)} of the variance arises there."
    )
    shown = [one for one in profile.functions if max(one.of_all, one.of_slowest) >= LEAST_SHARE]
    heads = ("function", "of the slowest", "of all", "slow µs", "mean µs")
    yield Only("terminal", [Table(heads, [_row(one, NAME) for one in shown[:TERMINAL]])])
    yield Only("page", [Table((*heads, "of the variance"), [_page_row(one) for one in shown[:PAGE]])])
    yield Chart(
        partial(draw_flame, profile, words.title),
        "Stacks of the slowest requests, outermost function on top. Width: time. Colour: how their share of"
        " the time differs from that of all requests.",
        [("more3", "more of the time than in all requests"), ("less3", "less")],
        words.id,
    )


def _row(one: FunctionShare, most: int) -> tuple[str, ...]:
    name = describe_function(one)
    name = name if len(name) <= most else f"{name[: most - 1]}…"
    shares = (_percent(one.of_slowest), _percent(one.of_all))
    return (name, *shares, numbers.number(one.slowest_us), numbers.number(one.all_us))


def _page_row(one: FunctionShare) -> tuple[str, ...]:
    return (*_row(one, sys.maxsize), _percent(one.of_variance))


def _percent(share: float) -> str:
    """Format a share as precisely as samples give it, without a negative zero."""
    return numbers.percent(round(share, 3) + 0.0)


@dataclass(slots=True)
class Node:
    """A function on the same path of callers, with its time and that of its callees, µs per request."""

    name: str
    all_us: float = 0.0
    slowest_us: float = 0.0
    callees: dict[str, Node] = field(default_factory=dict)

    def callee(self, name: str) -> Node:
        """Return the node of a function that this one calls."""
        return self.callees.setdefault(name, Node(name))


def merge_stacks(stacks: Iterable[tuple[Sequence[str], float, float]]) -> Node:
    """Merge stacks into a tree: frames, outermost first, with the time of all and of slow requests.

    >>> tree = merge_stacks([(("main", "work"), 1.0, 8.0), (("main", "idle"), 2.0, 0.0)])
    >>> tree.callees["main"].all_us, tree.callees["main"].callees["work"].slowest_us
    (3.0, 8.0)
    """
    root = Node("all")
    for frames, all_us, slowest_us in stacks:
        node = root
        for at, name in enumerate(("all", *frames)):
            node = node.callee(name) if at else root
            node.all_us += all_us
            node.slowest_us += slowest_us
    return root


def draw_flame(profile: Profile, title: str, width: float) -> str | None:
    """Draw the stacks of the slowest requests, coloured by the difference from all requests."""
    root = merge_stacks((one.frames, one.all_us, one.slowest_us) for one in profile.stacks)
    if not root.slowest_us or not root.all_us:
        return None
    scale = (width - 8) / root.slowest_us
    boxes = list(_boxes(root, scale, 4.0, 0))
    deepest = max(depth for _, _, depth in boxes)
    plot = Plot(width, 8 + ROW * (deepest + 1), f"{title}, compared with all requests")
    for node, left, depth in boxes:
        share, of_all = node.slowest_us / root.slowest_us, node.all_us / root.all_us
        shares = f"{node.name}: {_percent(share)}, of all {_percent(of_all)}"
        long, top = node.slowest_us * scale, 4 + ROW * depth
        plot.bar((left, top, long - 0.4, ROW - 1), cls=colour(share - of_all), title=shares)
        if long > 6.6 * len(node.name) + 6:
            plot.text(left + 3, top + 12, node.name, cls="on")
    return str(plot)


def _boxes(node: Node, scale: float, left: float, depth: int) -> Iterator[tuple[Node, float, int]]:
    if node.slowest_us * scale < LEAST_WIDTH:
        return
    yield node, left, depth
    for one in sorted(node.callees.values(), key=lambda callee: callee.name):
        yield from _boxes(one, scale, left, depth + 1)
        left += one.slowest_us * scale


def colour(difference: float) -> str:
    """Return the CSS class of a difference of shares.

    >>> colour(0.3), colour(-0.06), colour(0.0)
    ('more3', 'less2', 'alike')
    """
    strength = sum(abs(difference) >= least for least in DIFFERENCES)
    if not strength:
        return "alike"
    return f"{'more' if difference > 0 else 'less'}{strength}"
