"""Export of a stored study to files that other tools read: CSV, Parquet, OpenMetrics, OTLP."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from hindmost import __version__
from hindmost.commands.measure.result import MeasureResult
from hindmost.commands.study.api import open_study
from hindmost.core.documents import write_whole
from hindmost.core.escapes import escape_label
from hindmost.core.names import nearest
from hindmost.core.results.frames import Kept
from hindmost.core.results.result import Result
from hindmost.core.store.measure import Measure
from hindmost.errors import StudyError, UsageError

Format = Literal["csv", "parquet", "openmetrics", "otlp"]
_VALUES = ("value", "low", "high")


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a study."""

    name: str
    unit: str
    kind: Literal["gauge", "counter"]
    help: str
    labels: Mapping[str, str]
    value: float


def export_study(study: Path, form: Format, out: Path) -> list[Path]:
    """Write a study's figures, and for CSV and Parquet its tables and stored requests, too.

    Parameters
    ----------
    study : Path
        The study's folder.
    form : {"csv", "parquet", "openmetrics", "otlp"}
        CSV and Parquet: one file per table (RFC 4180). OpenMetrics: one text file. OTLP: one file, a
        metrics request of OpenTelemetry's protocol in JSON.
    out : Path
        A folder for CSV and Parquet, otherwise a file.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    UsageError
        If the format is unknown, or Parquet is wanted and polars is not installed.
    StudyError
        If the study cannot be read, or a file cannot be written.
    """
    if form not in get_args(Format):
        raise UsageError(
            "unknown-name",
            f"there is no format {form!r}{nearest(form, get_args(Format))}",
            hint=f"one of {', '.join(get_args(Format))}",
            name=form,
            known=list(get_args(Format)),
        )
    result = open_study(study, frames="polars" if form == "parquet" else "rows")
    try:
        if form == "csv":
            return _write_csv(result, out)
        if form == "parquet":
            return _write_parquet(result, out)
        text = openmetrics(metrics(result)) if form == "openmetrics" else otlp(result, metrics(result))
        out.parent.mkdir(parents=True, exist_ok=True)
        return [write_whole(out, text.encode())]
    except OSError as error:
        raise StudyError(
            "unwritable-file", f"cannot write {out}: {error.strerror}", hint=f"ls -ld {out}", path=str(out)
        ) from error


def metrics(result: Result[Any]) -> list[Metric]:
    """List a result's figures in base units: seconds, requests per second, requests.

    Unknown figures are left out; infinite latency is ``+Inf``.
    """
    found: list[Metric] = []
    study = {"study": result.study.name} if result.study else {}
    for row in result.latency:
        left_out = (*_VALUES, "runs", "verdict")
        labels = study | {name: str(value) for name, value in row.items() if name not in left_out}
        for bound in _VALUES:
            if row.get(bound) is not None and not math.isnan(row[bound]):
                seconds = row[bound] / 1e6
                about = "Latency from the scheduled time, by quantile, with its interval."
                found.append(
                    Metric("latency_seconds", "seconds", "gauge", about, labels | {"bound": bound}, seconds)
                )
    if isinstance(result, MeasureResult):
        found += _load_metrics(result.document, study)
    return found


def _load_metrics(document: Measure, study: Mapping[str, str]) -> Iterator[Metric]:
    throughput, counts = document.throughput, document.counts
    about = "Rate of requests: requested and achieved."
    for name, rate in (("requested", throughput.requested), ("achieved", throughput.achieved)):
        if rate is not None:
            yield Metric("throughput_per_second", "", "gauge", about, {**study, "of": name}, rate)
    by_outcome = {
        "completed": counts.completed,
        "errors": counts.errors,
        "timeouts": counts.timeouts,
        "unsent": counts.unsent,
    }
    for outcome, count in by_outcome.items():
        labels = {**study, "outcome": outcome}
        yield Metric("requests", "", "counter", "Scheduled requests by outcome.", labels, count)


def openmetrics(found: Sequence[Metric]) -> str:
    """Write metrics as OpenMetrics text 1.0 (github.com/prometheus/OpenMetrics).

    Examples
    --------
    >>> errors = Metric("requests", "", "counter", "Requests.", {"outcome": "errors"}, 2.0)
    >>> print(openmetrics([errors]), end="")
    # TYPE hindmost_requests counter
    # HELP hindmost_requests Requests.
    hindmost_requests_total{outcome="errors"} 2
    # EOF
    """
    lines: list[str] = []
    for name in dict.fromkeys(one.name for one in found):
        family = [one for one in found if one.name == name]
        lines.append(f"# TYPE hindmost_{name} {family[0].kind}")
        if family[0].unit:
            lines.append(f"# UNIT hindmost_{name} {family[0].unit}")
        lines.append(f"# HELP hindmost_{name} {family[0].help}")
        suffix = "_total" if family[0].kind == "counter" else ""
        for one in family:
            labels = ",".join(f'{_label(key)}="{escape_label(value)}"' for key, value in one.labels.items())
            lines.append(f"hindmost_{name}{suffix}{{{labels}}} {_number(one.value)}")
    return "\n".join([*lines, "# EOF", ""])


def otlp(result: Result[Any], found: Sequence[Metric]) -> str:
    """Write metrics as an ``ExportMetricsServiceRequest`` in JSON (opentelemetry-proto 1.x)."""
    nanos = str(_created_ns(result.document))
    groups = []
    for name in dict.fromkeys(one.name for one in found):
        family = [one for one in found if one.name == name]
        points = [
            {
                "timeUnixNano": nanos,
                "attributes": [_attribute(label, value) for label, value in one.labels.items()],
                "asDouble": one.value if math.isfinite(one.value) else "Infinity",
            }
            for one in family
        ]
        data: dict[str, Any] = {"dataPoints": points}
        if family[0].kind == "counter":
            data |= {"aggregationTemporality": 2, "isMonotonic": True}
        groups.append(
            {
                "name": f"hindmost.{name}",
                "description": family[0].help,
                "unit": {"seconds": "s"}.get(family[0].unit, "1"),
                "sum" if family[0].kind == "counter" else "gauge": data,
            }
        )
    resource = [_attribute("service.name", "hindmost"), _attribute("hindmost.verdict", result.verdict)]
    scope = {"scope": {"name": "hindmost", "version": __version__}, "metrics": groups}
    request = {"resourceMetrics": [{"resource": {"attributes": resource}, "scopeMetrics": [scope]}]}
    return json.dumps(request, indent=1) + "\n"


def _write_csv(result: Result[Any], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, rows in _tables(result):
        text = io.StringIO()
        columns = list(dict.fromkeys(column for row in rows for column in row))
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(rows)
        written.append(write_whole(out / f"{name}.csv", text.getvalue().encode()))
    for kept in get_args(Kept):
        try:
            requests = result.requests(kept)
        except StudyError:
            continue  # none were stored
        if (first := next(requests, None)) is None:
            continue  # no request was stored
        unfinished = out / f".{kept}.csv"
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, first)
            writer.writeheader()
            writer.writerow(first)
            writer.writerows(requests)
        written.append(unfinished.replace(out / f"{kept}.csv"))
    return written


def _write_parquet(result: Result[Any], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in _tables(result):
        written.append(out / f"{name}.parquet")
        table.write_parquet(written[-1])
    for kept in get_args(Kept):
        try:
            requests = result.requests(kept)
        except StudyError:
            continue
        written.append(out / f"{kept}.parquet")
        requests.collect().write_parquet(written[-1])
    return written


def _tables(result: Result[Any]) -> Iterator[tuple[str, Any]]:
    for name in ("latency", *result.TABLES):
        table = getattr(result, name)
        if len(table):
            yield name, table


def _created_ns(document: Any) -> int:  # noqa: ANN401 (a typed document or a mapping)
    from datetime import datetime

    created = document["created"] if isinstance(document, Mapping) else document.created
    return int(datetime.fromisoformat(created).timestamp()) * 1_000_000_000


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _number(value: float) -> str:
    return f"{value:.12g}" if math.isfinite(value) else "+Inf" if value > 0 else "-Inf"


def _label(name: str) -> str:
    """Return a name that OpenMetrics allows; factors of a study may have any."""
    return re.sub(r"^(?=\d)|\W", "_", name, flags=re.ASCII)
