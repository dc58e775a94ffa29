"""The page of a measurement: one self-contained HTML file that opens offline and can be printed."""

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from hindmost.commands.measure.view import charts, data, fleet, instrument, limits, proof, tables, view
from hindmost.commands.measure.view.values import labels, run_value
from hindmost.core.store.measure import Measure
from hindmost.present import numbers
from hindmost.present.curves import drawable_points, flattens_latency, on_grid
from hindmost.present.document import clean
from hindmost.present.sheet import asset, drawing, render

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def render_page(result: Mapping[str, Any], *, scripts: bool = True) -> str:
    """Render the page of one measurement.

    Parameters
    ----------
    result
        Document ``hindmost.measure/2``, also of an earlier version.
    scripts
        Whether charts are interactive (uPlot, inside the file). Without scripts, the same charts are static.
    """
    from markupsafe import Markup

    doc = cast(Measure, clean(result))
    return render(
        "page.html",
        doc=doc,
        scripts=scripts,
        policy=_POLICY.format(scripts="'unsafe-inline'" if scripts else "'none'"),
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
        labels=labels(*(run["latency_us"] for run in doc["runs"])),
        told=data.default_quantile(doc),
        readings=readings(doc),
        clients=client_rows(doc),
        cumulative=[row for row in charts.cumulative(doc) if row[1] < 0.99999][:60],
        charts={
            "summary": drawing(partial(charts.summary, doc)),
            "tail": drawing(partial(charts.distribution, doc)),
            "send_delay": drawing(lambda width: charts.distribution(doc, width, ("send_delay",))),
            "runs": drawing(lambda width: charts.runs(doc, width, data.default_quantile(doc))),
            "outstanding": drawing(partial(charts.outstanding, doc)),
            "clients": drawing(partial(charts.clients, doc)),
            "capture": drawing(partial(charts.capture, doc)),
            "series": drawing(partial(charts.series, doc)),
        },
        script=asset("templates/page.js") if scripts else "",
        uplot_style=asset("vendor/uPlot.min.css") if scripts else "",
        uplot_script=asset("vendor/uPlot.iife.min.js") if scripts else "",
        uplot_licence=asset("vendor/uPlot.LICENSE") if scripts else "",
        data=Markup(data.embeddable_json(doc)) if scripts else "",
        view=view,
        fleet=fleet,
        instrument=instrument,
        limits=limits,
        self_diagnosis=instrument.self_diagnosis(doc),
        run_value=run_value,
        alone=view.own_interval_text,
    )


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
