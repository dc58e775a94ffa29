"""``hindmost study export``: write a study's figures in formats that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import OUTPUT, TARGET, option
from hindmost.cli.streams import say
from hindmost.core.exits import Exit

ENDINGS = {"openmetrics": ".prom", "otlp": ".otlp.json"}


def export(
    study: Annotated[Path, option(TARGET, None, "Folder of a study.")],
    *,
    as_: Annotated[
        Literal["csv", "parquet", "openmetrics", "otlp"],
        option(
            OUTPUT,
            "FORMAT",
            "csv or parquet (needs polars): a file for each table and for the stored requests."
            " openmetrics: text for Prometheus. otlp: OpenTelemetry's JSON.",
        ),
    ],
    out: Annotated[
        Path | None,
        option(OUTPUT, "PATH", "Folder (csv, parquet) or file. [default: STUDY-FORMAT, next to the study]"),
    ] = None,
) -> int:
    """Write a stored study's figures as CSV, Parquet, OpenMetrics or OTLP, and measure nothing.

    Times are microseconds in CSV and Parquet, seconds in OpenMetrics and OTLP.
    """
    from hindmost.commands.study.export import export_study

    folder = study.resolve()  # "." has no name
    where = out or folder.with_name(f"{folder.name}-{as_}{ENDINGS.get(as_, '')}")
    for path in export_study(study, as_, where):
        say(f"written: {path}")
    return Exit.DONE
