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
    push: Annotated[
        str | None,
        option(
            OUTPUT,
            "URL",
            "otlp: send it to a collector instead of a file, like http://localhost:4318/v1/metrics.",
        ),
    ] = None,
    header: Annotated[
        tuple[str, ...],
        option(
            OUTPUT,
            "'NAME: VALUE'",
            "Header for --push, like 'Authorization: Bearer env:TOKEN'; may be repeated.",
        ),
    ] = (),
) -> int:
    """Write a stored study's figures as CSV, Parquet, OpenMetrics or OTLP, and measure nothing.

    Times are microseconds in CSV and Parquet, seconds in OpenMetrics and OTLP.
    """
    from hindmost.commands.study.export import export_study

    if push is not None:
        return _push(study, as_, push, out, header)
    folder = study.resolve()  # "." has no name
    where = out or folder.with_name(f"{folder.name}-{as_}{ENDINGS.get(as_, '')}")
    for path in export_study(study, as_, where):
        say(f"written: {path}")
    return Exit.DONE


def _push(study: Path, form: str, url: str, out: Path | None, header: tuple[str, ...]) -> int:
    """Send the figures to a collector."""
    from hindmost.commands.study.push import push_study
    from hindmost.core.plan.http import parse_headers
    from hindmost.core.plan.secrets import reveal_headers, trust
    from hindmost.errors import UsageError

    if form != "otlp" or out is not None:
        other = "--out" if out is not None else "--as"
        raise UsageError(
            "conflicting-options",
            f"--push conflicts with {other}: it sends OTLP to a collector and writes no file",
            hint="--as otlp --push URL",
            options=["--push", other],
        )
    headers = parse_headers(header)
    trust(headers)
    count = push_study(study, url, reveal_headers(headers))
    say(f"pushed: {count} figures to {url}")
    return Exit.DONE
