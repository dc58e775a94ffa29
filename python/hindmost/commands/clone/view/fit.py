"""View of a fit: the law and why it was chosen, the log's own latency, and what remains unknown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.clone.documents.fit import FitResult, FittedLaw, Gaps, Law, OrderFound, Own, OwnRow
from hindmost.commands.clone.view import fit_charts
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Chart, Facts, Item, Items, Only, Section, Table, Text, View

HOW_COMPARED = (
    "The clone receives the log's arrivals, twelve times with different random numbers. The last column is"
    " the difference between such repetitions (95 %). A larger difference is marked if it also exceeds 5 %."
)


def view(doc: FitResult) -> View:
    """Return the view of a fit."""
    clone, log = doc.clone, doc.log
    origin = clone["origin"]
    differing = [row for one in doc.own for row in one.rows if row.differs]
    used = [] if log.utilisation is None else [f"logged at {numbers.percent(log.utilisation)} utilisation"]
    return View(
        title=f"Fit: {clone['name']}",
        word="",
        tone="inconclusive" if doc.demand.contaminated or differing else "valid",
        headline=f"{clone['name']}: a clone fitted to {numbers.count(log.samples)} requests",
        meta=(origin["source"], log.column, *used, f"SHA-256 {origin['sha256'][:16]}…"),
        schema=doc.schema,
        blocks=[
            Section("Summary", [Facts(list(_facts(doc)))]),
            Section("The log's own latency", list(_own_latency(doc, differing))),
            Section("What remains unknown", _unknown(doc)),
            Only("page", list(_evidence(doc))),
        ],
    )


def _facts(doc: FitResult) -> Iterator[tuple[str, str]]:
    yield "time", times_text(doc)
    if doc.beside:
        yield "beside", doc.beside.text
    if doc.load:
        yield "load", doc.load.said + ("" if doc.load.seen else ": not beyond chance")
    if doc.kinds:
        error, floor = numbers.percent(doc.by_kind_error), numbers.percent(doc.floor)
        yield (
            "law",
            f"one per request kind; their error on held-out latency is {error} (the log itself: {floor})",
        )
    for part in doc.kinds or [doc.law]:
        chosen, *others = ordered_candidates(part)
        error, floor = numbers.percent(chosen.error), numbers.percent(part.floor)
        name = numbers.cut(part.name, 12) if doc.kinds else "law"
        yield name, f"{chosen.name}, with an error of {error} on held-out latency (the log itself: {floor})"
        rows = [f"{one.name} {numbers.percent(one.error)}{' (tail)' if one.misfit else ''}" for one in others]
        yield "", f"others: {', '.join(rows)}"
    yield "order", order_text(doc.order)
    for place, text in enumerate(pauses_texts(doc.disturbance) if doc.disturbance else ()):
        yield "" if place else "pauses", text
    for note in doc.threads:
        yield "threads", note.text
    if rate := doc.capacity_per_s:
        busy, threads = numbers.latency(doc.mean_busy_us), numbers.plural(doc.clone["threads"], "thread")
        yield (
            "capacity",
            f"{numbers.rate(rate)} with {threads} and {busy} per request; 70 %: {numbers.rate(0.7 * rate)}",
        )


def times_text(doc: FitResult) -> str:
    """Describe the fitted times."""
    log, demand = doc.log, doc.demand
    name = "CPU time of each request" if demand.of == "cpu" else f"wall time of each request ({log.column})"
    found = log.cpu_us if demand.of == "cpu" and log.cpu_us else log.wall_us
    figures = [f"{key} {numbers.latency(found[key])}" for key in ("mean", "p50", "p95", "p99")]
    text = f"{name}: {', '.join(figures)}"
    if demand.cpu_share is not None:
        text += f"; on a CPU for {numbers.percent(demand.cpu_share)} of the wall time"
    if demand.contaminated:
        text += f"; wall times include interference (p99 {demand.wall_over_cpu:.3g} times the CPU time's)"
    return text


def ordered_candidates(part: FittedLaw) -> list[Law]:
    """Return the chosen candidate, then the others by their error."""
    return sorted(part.candidates, key=lambda one: (one.name != part.taken, one.error))


def order_text(order: OrderFound) -> str:
    """Describe the order of requests."""
    low, high = order.interval
    text = f"lag-1 autocorrelation {order.autocorrelation:.3f} [{low:.3f}, {high:.3f}]"
    taken = order.taken
    if taken.get("regimes"):
        stays = " and ".join(numbers.count(one["mean_requests"]) for one in taken["regimes"])
        text += f"; two regimes, {taken['regimes'][1]['factor']:.3g} apart, of {stays} requests"
    elif not taken["autocorrelation"]:
        text += ": the clone draws requests independently"
    if order.errors:
        rows = [f"{name} {numbers.percent(error)}" for name, error in order.errors.items()]
        text += f"; error in the original order: {', '.join(rows)}"
    return text


def pauses_texts(gaps: Gaps) -> Iterator[str]:
    """Describe the pauses in services: each sort, and the evidence."""
    for part in gaps.parts:
        if part.chance is not None:
            when = f"waits within requests, in {numbers.percent(part.chance)} of them"
        elif part.every_us:
            when = f"periodic pauses, every {numbers.latency(part.every_us)}"
        else:
            when = f"random pauses, {part.per_second:.3g} per second of service"
        mean, longest = (numbers.latency(part.length_us[name]) for name in ("mean", "max"))
        yield f"{numbers.count(part.hits)} {when}: mean {mean}, longest {longest}"
    if gaps.why:
        yield f"it is unknown whether they depend on time or on requests: {gaps.why.text}"
    else:
        low, high = (numbers.percent(min(1.0, share)) for share in gaps.clock_share[1:])
        yield (
            f"arrivals at an idle thread that were delayed by more than {numbers.latency(gaps.longer_us)}:"
            f" {numbers.count(gaps.idle_delayed)}, and {numbers.number(gaps.idle_expected)} expected if all"
            f" such pauses depended on time; {low} to {high} of them do (99 % interval)"
        )


def _own_latency(doc: FitResult, differing: list[OwnRow]) -> Iterator[Block]:
    if differing:
        rows = ", ".join(f"{row.name} by {numbers.change(row.off)}" for row in differing)
        yield Text(f"With the log's own arrivals the clone differs significantly: {rows}.", "note")
    yield Only("page", [Text(HOW_COMPARED, "muted")])
    for own in doc.own:
        yield Text(f"Not compared: {own.why.text}.") if own.why else _own_table(own)


def _own_table(own: Own) -> Table:
    rows: list[tuple[str | Cell, ...]] = [
        (
            row.name,
            numbers.latency(row.log_us.value),
            f"{numbers.latency(row.log_us.low)} to {numbers.latency(row.log_us.high)}",
            numbers.latency(row.clone_us),
            Cell(numbers.change(row.off), "note", "! differs") if row.differs else numbers.change(row.off),
            f"±{numbers.percent(row.chance)}",
        )
        for row in own.rows
    ]
    used = numbers.percent(own.utilisation)
    return Table(
        ("", "log", "95 % interval", "clone", "clone / log", "by chance"),
        rows,
        caption=f"{own.source}, {numbers.count(own.requests)} requests, {used} utilisation",
    )


def _unknown(doc: FitResult) -> list[Block]:
    if not doc.unknown:
        return [Text("Every field of the document is known.")]
    return [Items([Item(note.text, "unknown", "note") for note in doc.unknown])]


def _evidence(doc: FitResult) -> Iterator[Block]:
    for place, part in enumerate(doc.kinds or [doc.law]):
        share = f" ({numbers.percent(part.share)} of all)" if doc.kinds else ""
        text = f"{part.taken}, fitted to {numbers.count(part.samples)} requests{share}."
        yield _law_section(part.name if doc.kinds else "The law", text, part, f"law-{place}")
    if doc.kinds:
        text = f"A single law for all kinds would be {doc.law.taken}."
        yield _law_section("All kinds together", text, doc.law, "law-all")
    log = doc.log
    times = [("wall", log.wall_us), ("CPU", log.cpu_us or {})]
    rows = [(name, *map(numbers.number, found.values())) for name, found in times if found]
    yield Section("Times of a request in the log", [Table(("µs", *log.wall_us), rows)])
    intervals = [
        (name, f"{low:.5g}", f"{high:.5g}") for name, (low, high) in doc.clone["origin"]["intervals"].items()
    ]
    caption = "95 % intervals, by a bootstrap of blocks of successive requests"
    yield Section("Intervals", [Table(("field", "low", "high"), intervals, caption=caption)])


def _law_section(title: str, text: str, part: FittedLaw, anchor: str) -> Section:
    legend = [("capture", "samples"), ("latency", f"law: {part.taken}")]
    if part.curves.components:
        legend.append(("send_delay", "its components"))
    return Section(
        title,
        [
            Text(text),
            Chart(
                partial(fit_charts.density, part),
                "Frequency of each service time (bars), and the law's density. The axis is logarithmic, so a"
                " lognormal component is a bell curve.",
                legend,
            ),
            Chart(
                partial(fit_charts.tails, part),
                "The slowest requests, on a scale with equal space for each further nine.",
            ),
            Chart(
                partial(fit_charts.departures, part),
                "Relative difference of the law's quantile from the samples', at levels with at least ten"
                " samples beyond them.",
            ),
            _candidates(part),
        ],
        anchor,
    )


def _candidates(part: FittedLaw) -> Table:
    ordered = ordered_candidates(part)
    loads = list(dict.fromkeys(name.rpartition(" at ")[2] for name in ordered[0].errors))

    def at(one: Law, load: str) -> str:
        errors = [f"{100 * error:.2g}" for name, error in one.errors.items() if name.endswith(f" at {load}")]
        return f"{' / '.join(errors)}{numbers.THIN}%"

    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(one.name, detail="chosen" if one.name == part.taken else ""),
            str(one.parameters),
            numbers.percent(one.error),
            *(at(one, load) for load in loads),
            one.misfit.text if one.misfit else "fits",
        )
        for one in ordered
    ]
    return Table(
        ("law", "parameters", "error", *(f"{load} load" for load in loads), "tail"),
        rows,
        f"<>>{'>' * len(loads)}<",
        best=0,
        caption="Candidates: error of the predicted latency of held-out requests, in a FCFS queue with one"
        " thread (mean absolute error; mean / p95 / p99 at each load)",
    )
