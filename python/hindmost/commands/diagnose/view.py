"""View of a diagnosis: the cause, the tested suspects, experiments by pairs, the correction."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.diagnose import charts
from hindmost.commands.diagnose.document import Correction, Diagnosis, Evidence, Next, Replica, Search
from hindmost.commands.diagnose.wording import correction_text, likeness_text, share_text, state_text
from hindmost.present import numbers, writing
from hindmost.present.blocks import Block, Cell, Chart, Item, Items, Only, Section, Table, Text, View


def view(doc: Diagnosis) -> View:
    """Return the view of a diagnosis."""
    following = [] if doc.next is None else [doc.next]
    return View(
        title=f"Why {doc.application} is slow",
        word=doc.ruling if doc.leader is None else f"{doc.ruling}: {doc.leader}",
        tone="valid" if doc.ruling == "cause" else "inconclusive",
        headline=_headline(doc),
        meta=(writing.moment(doc.created), f"took {numbers.seconds(doc.took_s)}"),
        schema=doc.schema,
        blocks=[
            _course(doc),
            *([] if doc.replica is None else [_replica(doc, doc.replica)]),
            *_search(doc, doc),
            *(block for part in following for block in _search(doc, part)),
            Section("Metrics that moved with latency", list(_moved(doc))),
            Only("terminal", [Text(f"The diagnosis took {doc.took_s:.0f} s. All other changes are undone.")]),
        ],
    )


def _headline(doc: Diagnosis) -> str:
    now, normal = numbers.latency(doc.now_us), ""
    if doc.normal_us is not None:
        normal = f", {doc.now_us / doc.normal_us:.1f} times its normal {numbers.latency(doc.normal_us)}"
    after = ""
    for part in (doc, doc.next):  # the last kept correction counts
        if part is not None and part.correction is not None and part.correction.kept:
            us = part.correction.after_us
            after = f"; {numbers.latency(us)} with the correction" if us else after
    return f"{doc.application}: p{doc.percentile:g} is {now}{normal}; {doc.why}{after}"


def _course(doc: Diagnosis) -> Section:
    names = {"sham": "nothing changed (sham)", charts.CORRECTION: charts.CORRECTION}
    legend = [
        (f"side {charts.colour_of(doc, name)}", names.get(name, f"without {name}"))
        for name in charts.names_of(doc)
        if name != charts.CORRECTION or charts.correction_pairs(doc)
    ]
    normal = "" if doc.normal_us is None else " The dashed line is normal latency."
    caption = (
        "Each line is a pair of windows, one after the other: the hollow dot with the suspect, the full dot"
        f" without it.{normal}"
    )
    chart = Chart(partial(charts.course, doc), caption, legend, empty="No suspect could be tested.")
    return Section("Course of the diagnosis", [chart])


def _replica(doc: Diagnosis, part: Replica) -> Section:
    return Section(
        f"First on a replica: {part.name}",
        [
            Text(f"{part.ruling}: {part.why}."),
            Text(
                f"Without any suspect, the replica takes {numbers.latency(part.base_us)} at"
                f" {part.rate_per_s:.0f} requests/s. It uses {part.processors:.2f} CPUs, the application"
                f" {part.host_processors:.2f}. Here, a suspect is present if it was applied to the replica;"
                f" the host was not changed. Then: {part.removal}."
            ),
            *_either(part, "Equally likely"),
            *_evidence(doc, part),
            _not_tried("Not tested on the replica", part),
            _experiments(doc, part),
        ],
    )


def _search(doc: Diagnosis, part: Diagnosis | Next) -> Iterator[Block]:
    if isinstance(part, Diagnosis):
        title = "Suspects tested" if doc.replica is None else "Suspects tested on the host"
        found: list[Block] = []  # the headline has it
    else:
        title = f"Without this cause, latency is still {numbers.latency(part.now_us)}"
        found = [Text(f"{part.ruling}: {part.why}.")]
    found += [*_either(part, "Removing these helps as much"), *_evidence(doc, part)]
    if isinstance(part, Diagnosis):
        found.append(_not_tried("Not tried", part))
    yield Section(title, [*found, _experiments(doc, part)])
    if part.correction is not None:
        yield _correction(doc, part.correction)


def _either(part: Search, how: str) -> list[Block]:
    text = f"{how}: {', '.join(part.also)}; no experiment can tell which was there first."
    return [Text(text)] if part.also else []


def _evidence(doc: Diagnosis, part: Search) -> Iterator[Block]:
    tested = charts.tested(part)
    if not tested:
        yield Text("No suspect could be tested.")
        return
    heads = ("suspect", "change", "with / without", "share", "p", "pairs", "result")
    rows = [_row(one) for one in tested]
    best = next((place for place, one in enumerate(tested) if one.name == part.leader), None)
    short = [(row[0], *row[2:]) for row in rows]  # without what was changed
    yield Only("terminal", [Table((heads[0], *heads[2:]), short, "<>>>><", best)])
    yield Only("page", [Table(heads, rows, "<<>>>><", best)])
    yield Items([Item(f"{one.name}: {likeness_text(one.signature)}") for one in tested if one.signature])
    above, below = numbers.percent(doc.explains_above), numbers.percent(doc.ruled_out_below)
    yield Chart(
        partial(charts.shares, doc, part),
        "The share of the slowdown that each suspect explains, with the bounds that decide. Solid lines: none"
        f" (0 %) and all of it (100 %). Dashed lines: the lower bound of a cause is above {above}, and the"
        f" upper bound of a suspect that is ruled out is below {below}. Bounds beyond 200 % are drawn at the"
        " edge.",
    )


def _row(one: Evidence) -> tuple[str | Cell, ...]:
    interval = bounds = ""
    if one.low is not None and one.high is not None:
        interval = f"[{one.low:.2f}, {one.high:.2f}]"
    if one.share_low is not None and one.share_high is not None:
        bounds = f"[{share_text(one.share_low)}, {share_text(one.share_high)}]"
    return (
        one.name,
        one.about,
        Cell(f"{one.ratio:.2f}", detail=interval),
        Cell(share_text(one.share), detail=bounds),
        f"{one.p:.4f}",
        str(one.pairs),
        state_text(one),
    )


def _not_tried(title: str, part: Diagnosis | Replica) -> Section:
    return Section(title, [Items([Item(f"{name}: {why}") for name, why in part.not_tried.items()])])


def _experiments(doc: Diagnosis, part: Search) -> Only:
    how = (
        "Hollow: with the suspect. Full: without it, some tenths of a second earlier or later, in random"
        f" order.{'' if doc.normal_us is None else ' Dashed: normal latency.'}"
    )
    experiments: list[Block] = [
        Section(one.name, [Chart(partial(charts.pairs, doc, one), _caption(one))])
        for one in charts.tested(part)
    ]
    if not experiments:
        return Only("page", [])
    return Only("page", [Section("Each experiment, pair by pair", [Text(how, "muted"), *experiments])])


def _caption(one: Evidence) -> str:
    if one.name == "sham":
        return (
            "The sham changes nothing, with the same timing."
            " If its dots differ by more than chance, no result counts."
        )
    return f"{one.about[:1].upper()}{one.about[1:]}: {state_text(one)}."


def _correction(doc: Diagnosis, one: Correction) -> Section:
    return Section(
        "The correction, before and after",
        [
            Text(correction_text(one)),
            Items([Item(f"did not help, and was undone: {each}") for each in one.refused or []]),
            Chart(
                partial(charts.pairs, doc, one),
                "The correction was switched on and off repeatedly, because a slowdown may also end on its"
                " own. Hollow dots: without the correction; full dots: with it.",
            ),
            Text(f"undo: `{one.undo}`" if one.undo else ""),
        ],
    )


def _moved(doc: Diagnosis) -> Iterator[Block]:
    if doc.moved_wait is not None:
        yield Text(f"They are not ranked yet: {doc.moved_wait}")
    elif doc.moved:
        yield Text("Correlation in the ring, not shown by an experiment.", "muted")
        rows = [
            (
                one.name,
                numbers.percent(one.explained),
                f"{one.correlation:.2f}",
                f"{one.p:.2f}",
                one.suggests,
            )
            for one in doc.moved
        ]
        yield Table(("metric", "explains", "correlation", "p", "suggests"), rows, "<>>><")
