"""View of a search: the answer, latency against rate, and its steps by rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from hindmost.commands.measure.search import charts
from hindmost.commands.measure.search.document import Search, Step
from hindmost.commands.measure.search.findings import OUTCOMES, format_runs
from hindmost.commands.measure.view.values import labels
from hindmost.core.plan.objective import parse_objective
from hindmost.core.store.measure import Estimates
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Chart, Only, Section, Table, Text, View
from hindmost.present.numbers import finite
from hindmost.present.writing import moment


def view(doc: Search, latencies: Mapping[str, Estimates]) -> View:
    """Return the view of a search.

    Parameters
    ----------
    latencies
        Latency of each step by its folder (``study``): estimates over its runs, by percentile.
    """
    key = parse_objective(doc.objective).leading.key
    brief = _steps(doc, [key], lambda step: [_cell(step.value_us, step.low_us, step.high_us)])
    return View(
        title=doc.objective,
        word=doc.verdict,
        tone="valid" if doc.verdict == "found" else "inconclusive",
        headline=doc.headline,
        meta=(*_answer(doc), numbers.plural(len(doc.steps), "step"), moment(doc.created)),
        schema=doc.schema,
        blocks=[
            Only("terminal", [brief]),
            Only("page", _sections(doc, latencies)),
            Only("markdown", [*map(Text, _answer(doc)), brief]),
        ],
    )


def _answer(doc: Search) -> list[str]:
    """State where the highest rate that meets the objective lies. Empty if no step is informative."""
    if not charts.bounds_rate(doc):
        return []
    low, high = charts.format_end(doc.low_per_s), charts.format_end(doc.high_per_s)
    confidence = f"with {numbers.percent(doc.confidence)} confidence"
    return [f"The highest rate that holds lies between {low} and {high}, {confidence}."]


def _sections(doc: Search, latencies: Mapping[str, Estimates]) -> list[Block]:
    names = [name for name in labels(*latencies.values()) if name != "mean"]
    legend = [(f"side c{number % charts.COLOURS}", name) for number, name in enumerate(names)]
    legend.append(("fair", "limit"))
    if charts.bounds_rate(doc):
        legend.append(("area-key", "interval of the highest rate that meets the objective"))

    def cells(step: Step) -> list[Cell]:
        found = (latencies.get(step.study, {}).get(name) for name in names)
        return [_cell(one.value, one.low, one.high) if one else _cell(None, None, None) for one in found]

    chart = Chart(
        partial(charts.rates, doc, latencies, names),
        "A dot is a step: a small study at one rate. Its bar is a 95 % interval over runs; for the"
        " objective's percentile it is the interval that decides. The vertical line is the highest rate"
        " that met the objective. Hollow dots are steps without information about the server, because of"
        " interference or because the client could not produce the rate. Lines omit them.",
        legend,
        "rates",
        "No step has a latency yet.",
    )
    about = (
        "Each step is a separate study, which `hindmost study report` shows. The 90 % interval of a typical"
        " run (the median over runs) decides a step."
    )
    return [
        Section("Latency against rate", [chart], "rates"),
        Section("Steps, by rate", [_steps(doc, names, cells, on_page=True), Text(about, "muted")], "steps"),
    ]


def _steps(
    doc: Search, names: Sequence[str], cells: Callable[[Step], Sequence[Cell]], *, on_page: bool = False
) -> Table:
    rows: list[Sequence[str | Cell]] = []
    for step in sorted(doc.steps, key=lambda step: -step.rate_per_s):
        word, where = OUTCOMES[step.outcome], ""
        if on_page:
            where = f" ({step.study})"
            word = word if step.outcome in charts.INFORMATIVE else f"excluded: {word}"
        rows.append((f"{step.rate_per_s:,.10g}", word, *cells(step), format_runs(step), f"{step.why}{where}"))
    return Table(("requests/s", "outcome", *names, "runs", "reason"), rows, f"><{'>' * len(names)}><")


def _cell(value: float | None, low: float | None, high: float | None) -> Cell:
    if not finite([value]):
        return Cell(numbers.latency(value))
    unit = numbers.unit_for(finite([value]))
    shown = numbers.interval(value, low, high, unit)
    interval = "" if low is None else f"[{shown.low}, {shown.high}]"
    return Cell(f"{shown.value}{numbers.THIN}{unit.name}", detail=interval)
