"""View of an explanation: the answer, the tail's origin, culprits, candidates, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.explain import charts
from hindmost.commands.explain.document import Confirmation, Explanation
from hindmost.commands.explain.wording import ratio_text, share_text
from hindmost.commands.trace.profile import profile_section
from hindmost.present import numbers, writing
from hindmost.present.blocks import Block, Chart, Item, Items, Section, Table, Text, View


def view(doc: Explanation) -> View:
    """Return the view of an explanation."""
    return View(
        title=f"{doc.target}: {doc.headline}",
        word=doc.verdict,
        tone="inconclusive" if doc.verdict == "undecided" else "valid",
        headline=doc.headline,
        meta=(f"{doc.target} at {numbers.rate(doc.rate_per_s)}", writing.moment(doc.created)),
        schema=doc.schema,
        blocks=[Section("Answer", [Text(one) for one in doc.answer]), *_evidence(doc)],
    )


def _evidence(doc: Explanation) -> Iterator[Block]:
    parts = [(one.name, share_text(one.of_variance), share_text(one.of_slowest)) for one in doc.parts]
    yield Section(
        "Where the tail comes from",
        [
            Chart(
                partial(charts.path, doc),
                "Upper bars: share of the variance of latency. Lower bars: share of the time of the slowest"
                " 1 % of requests in the server's host.",
            ),
            Table(("part of the path", "of the variance", "of the slowest 1 %"), parts),
        ],
    )
    culprits = [
        (
            one.name if one.process is None else f"{one.name} (pid {one.process})",
            one.kind,
            share_text(one.of_variance),
            share_text(one.of_slowest),
            numbers.latency(one.mean_us),
            f"{numbers.count(one.requests)} requests: {', '.join(one.causes)}",
        )
        for one in doc.culprits
    ]
    heads = ("who", "kind", "of the variance", "of the slowest 1 %", "per request", "evidence")
    yield Section("Culprits", [Table(heads, culprits, "<<>>><")])
    if doc.profile is not None:
        yield profile_section(doc.profile)
    candidates = [
        (
            one.label,
            f"{one.candidate.predicted:.2f}",
            ratio_text(one.ratio),
            str(one.pairs),
            one.outcome,
            one.candidate.risk,
            numbers.seconds(one.seconds),
            one.candidate.reason,
        )
        for one in doc.trials
    ]
    columns = ("change", "predicted", f"{doc.by} ratio", "rounds", "outcome", "risk", "time", "why")
    yield Section(
        "Candidates",
        [
            Chart(
                partial(charts.forest, doc),
                f"{doc.by} with each change over {doc.by} without it, with intervals by signed ranks of"
                " pairs. Only fresh pairs support a claim.",
            ),
            Table(columns, candidates, "<>>><<><"),
        ],
    )
    if doc.confirmation is not None:
        yield _before_and_after(doc, doc.confirmation)
    yield Section("Budget and limits", [Items([Item(one) for one in remarks(doc)])])


def _before_and_after(doc: Explanation, fresh: Confirmation) -> Section:
    changed = " and ".join(fresh.labels)
    rows = [
        (
            name,
            numbers.latency(fresh.before.latency_us[name], missing=numbers.INFINITE),
            numbers.latency(fresh.after.latency_us[name], missing=numbers.INFINITE),
            ratio_text(ratio),
        )
        for name, ratio in fresh.ratios.items()
        if name in fresh.before.latency_us
    ]
    rates = (numbers.rate(fresh.before.rate_per_s), numbers.rate(fresh.after.rate_per_s))
    rows.append(("throughput", *rates, ratio_text(fresh.ratios.get("throughput"))))
    legend = [("side c0", "as it is"), ("side c1", changed)]
    return Section(
        f"Before and after: {fresh.pairs} fresh pairs, {numbers.seconds(fresh.seconds)}",
        [
            Table(("", "as it is", changed, "ratio"), rows),
            Chart(partial(charts.latencies, fresh), "All requests of all fresh runs.", legend),
        ],
        "latency",
    )


def remarks(doc: Explanation) -> list[str]:
    """Return the remarks below the tables: the budget, the host, what was left out."""
    spent = f"{numbers.seconds(doc.spent_s)} of {numbers.seconds(doc.budget_s)} were spent on runs"
    able = ""
    if doc.resolution.decides is not None:
        able = f"; this budget can detect a {doc.by} ratio of {doc.resolution.decides:.2f}"
    more = ""
    if (need := doc.resolution.budget_s) is not None:
        what = "allow the fewest pairs that can decide" if doc.resolution.scatter is None else "decide 10 %"
        more = f"; about {numbers.seconds(need)} would {what}"
    return [f"{spent}{able}{more}", f"host: {doc.host}", *(one.text for one in doc.cannot)]
