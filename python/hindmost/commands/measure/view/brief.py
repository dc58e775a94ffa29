"""View of a measurement in the terminal: the table, then one reason per line, then the next command."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.commands.measure.view import tables, wording
from hindmost.commands.measure.view.account import account, brief_account
from hindmost.commands.measure.view.limits import brief_limits
from hindmost.commands.measure.view.values import bounds, labels
from hindmost.core.store.measure import Measure
from hindmost.present import numbers
from hindmost.present.blocks import Block, Facts, Item, Items, Next, Table, Text, tone_of

KEY_VALUE = {"get", "set"}
"""Kinds of requests in the built-in key-value workload."""
MOST_KINDS = 10
MOST = 3
"""Number of reasons shown. The page has all of them."""


def blocks(doc: Measure, *, verbose: bool) -> list[Block]:
    """Return the blocks; `verbose` adds details of load, runs and client, and every single reason."""
    groups = tables.latency_groups(doc)
    shown = {name: group for name, group in groups.items() if verbose or name != "send_delay"}
    return [
        brief_limits(doc),
        *tables.brief_table(shown),
        *(tables.brief_table(streamed) if (streamed := tables.other_groups(doc)) else ()),
        *_kinds(doc),
        Facts(account(doc) if verbose else brief_account(doc)),
        *(_reasons(doc) if verbose else _causes(doc)),
    ]


def _kinds(doc: Measure) -> Iterator[Block]:
    """Yield the figures of each request of a list, the most frequent first."""
    kinds = sorted(doc.by_kind.items(), key=lambda one: -one[1].counts.scheduled)
    if len(kinds) < 2 or {kind for kind, _ in kinds} == KEY_VALUE:
        return
    shown = labels(*(one.latency_us for _, one in kinds))
    rows = []
    for kind, one in kinds[:MOST_KINDS]:
        found = one.latency_us
        signs = {label: tables.SIGNS.get(found[label].verdict, "") for label in found}
        rows.append(
            (
                kind,
                numbers.count(one.counts.scheduled),
                numbers.count(one.counts.errors),
                *(numbers.latency(bounds(found, label)[0]) + signs.get(label, "") for label in shown),
            )
        )
    yield Table(("latency by request", "requests", "errors", *shown), rows)
    if (more := len(kinds) - MOST_KINDS) > 0:
        yield Text(f"and {numbers.plural(more, 'more request')}: see the page", "muted")


def _causes(doc: Measure) -> Iterator[Block]:
    """Yield one reason per line, the most serious first, then the next command."""
    yield Text(wording.decided_text(doc))
    found = wording.causes(doc)
    yield Items(
        [
            Item(wording.clause(one.text), wording.subject(doc, one), tone_of(one.level))
            for one in found[:MOST]
        ]
    )
    if len(found) > MOST:
        yield Text(f"and {len(found) - MOST} more: --verbose, or the page", "muted")
    if doc.verdict != "valid" or doc.plan.get("quick"):
        grave = (one for one in found if one.level != "note" or "quick-look" in one.codes)
        yield Next(next((one.hint for one in grave if one.hint), ""))


def _reasons(doc: Measure) -> Iterator[Block]:
    yield Items([Item(one.text, one.level, tone_of(one.level), one.hint) for one in doc.reasons])
