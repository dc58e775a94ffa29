"""The page of a measurement: one self-contained HTML file that opens offline and can be printed."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from hindmost.commands.measure.view import charts, fleet, instrument, limits, proof, tables, view
from hindmost.commands.measure.view.values import labels, run_value
from hindmost.core.store.measure import Measure, Series
from hindmost.present import numbers
from hindmost.present.curves import drawable_points, flattens_latency, on_grid, thin_series
from hindmost.present.document import clean, finite
from hindmost.present.sheet import drawing, render

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What the page's browser may load: nothing."""


def render_page(result: Mapping[str, Any]) -> str:
    """Render the page of one measurement.

    Parameters
    ----------
    result
        Document ``hindmost.measure/2``, also of an earlier version.
    """
    doc = cast(Measure, clean(result))
    every_label = labels(*(run["latency_us"] for run in doc["runs"]))
    main_label = choose_label(doc)
    return render(
        "page.html",
        doc=doc,
        policy=POLICY,
        table=tables.quantile_table(doc),
        kinds=kind_tables(doc),
        wire=tables.wire_table(doc),
        connect=tables.connect_table(doc),
        held=tables.held_table(doc),
        both=tables.both_table(doc),
        proofs=proof.proofs(doc),
        proof_text=proof.proof_text(doc),
        send_delay_apart=flattens_latency(
            doc["distributions"].get("latency"), doc["distributions"].get("send_delay")
        ),
        labels=every_label,
        main_label=main_label,
        readings=readings(doc),
        clients=client_rows(doc),
        cumulative=[row for row in charts.cumulative(doc) if row[1] < 0.99999][:60],
        charts={
            "summary": drawing(partial(charts.summary, doc)),
            "tail": drawing(partial(charts.distribution, doc)),
            "send_delay": drawing(lambda width: charts.distribution(doc, width, ("send_delay",))),
            "runs": drawing(lambda width: charts.runs(doc, width, main_label)),
            "outstanding": drawing(partial(charts.outstanding, doc)),
            "clients": drawing(partial(charts.clients, doc)),
            "capture": drawing(partial(charts.capture, doc)),
        },
        other_runs=[
            (label, chart)
            for label in every_label
            if label != main_label and (chart := drawing(partial(charts.runs, doc, label=label)))
        ],
        series=[
            (one["run"], chart)
            for one in shown_series(doc)
            if (chart := drawing(partial(charts.series, one)))
        ],
        view=view,
        fleet=fleet,
        instrument=instrument,
        limits=limits,
        self_diagnosis=instrument.self_diagnosis(doc),
        run_value=run_value,
        alone=view.own_interval_text,
    )


def choose_label(doc: Measure) -> str:
    """Return the quantile to show first: the one that ended the runs, else the last except the mean."""
    known = labels(*(run["latency_us"] for run in doc["runs"]))
    wanted = doc["stopping"]["quantile"]
    return wanted if wanted in known else next((k for k in reversed(known) if k != "mean"), "p99")


def shown_series(doc: Measure) -> list[Series]:
    """Return the windows of the first run, and of the run with the slowest one."""
    if not doc["series"]:
        return []
    first, *_ = every = [thin_series(one) for one in doc["series"]]
    slowest = max(every, key=lambda one: max(finite(one["p99_us"]), default=0.0))
    return [first] if slowest is first else [first, slowest]


def readings(doc: Measure) -> list[tuple[str, list[str]]]:
    """Read the merged curves at round levels: the numbers of the first chart."""
    found = doc["distributions"]
    curves = [found.get("latency"), found.get("service"), found.get("send_delay")]
    end = max((q for curve in curves for q in drawable_points(curve)[0]), default=0.0)
    levels = [q for q in (0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999) if q <= end]
    columns = [on_grid(curve, levels) for curve in curves]
    empty = [not drawable_points(curve)[0] for curve in curves]
    return [
        (
            f"p{numbers.level_label(q)}",
            [
                numbers.latency(column[i], missing=numbers.MISSING if none else numbers.INFINITE)
                for column, none in zip(columns, empty, strict=True)
            ],
        )
        for i, q in enumerate(levels)
    ]


def kind_tables(doc: Measure) -> tables.Table | None:
    """Return the latency of each kind of request, side by side."""
    kinds = doc["by_kind"]
    if not kinds:
        return None
    return tables.estimate_table({kind: one["latency_us"] for kind, one in kinds.items()})


def client_rows(doc: Measure) -> list[dict[str, str]]:
    """Return for each client the range of its figures over the runs."""
    groups: dict[int, list[Any]] = {}
    for run in doc["runs"]:
        for one in run["clients"]:
            groups.setdefault(one["index"], []).append(one)
    return [
        {
            "index": str(index),
            "cpus": ", ".join(sorted({str(cpu) for one in ones for cpu in one["cpus"]})) or numbers.MISSING,
            "busy": view.span([one["busy_share"] for one in ones], numbers.percent),
            "delay": view.span([one["run_delay_share"] for one in ones], numbers.percent),
            "switches": view.span([one["involuntary_switches"] for one in ones], numbers.count),
            "send_delay_p50": view.span(
                [run_value(one["send_delay_us"], "p50") for one in ones], numbers.latency
            ),
            "send_delay_p99": view.span(
                [run_value(one["send_delay_us"], "p99") for one in ones], numbers.latency
            ),
            "steady": f"{sum(1 for one in ones if one['steady'])} of {len(ones)}",
        }
        for index, ones in sorted(groups.items())
    ]
