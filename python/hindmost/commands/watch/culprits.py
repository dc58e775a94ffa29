"""Culprits of a stored trace, which order the suspects of a diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.core.documents import read_json

if TYPE_CHECKING:
    from hindmost.commands.watch.document import TraceCulprit

SHOWN_CULPRITS = 5


def read_culprits(trace: Path) -> list[TraceCulprit]:
    """Return the culprits with the largest shares of the variance in a trace, the largest first."""
    from hindmost.commands.watch.document import TraceCulprit
    from hindmost.errors import UsageError

    try:
        document = read_json(trace)
        charged = [] if document["who"] is None else document["who"]["culprits"]
        rows = [
            TraceCulprit(
                name=part["who"]["name"],
                stage=part["stage"],
                cause=part["cause"],
                share=part["share_of_variance"]["value"] or 0.0,
            )
            for part in charged
            if part["who"] is not None and part["share_of_variance"] is not None
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            "bad-file",
            f"{trace} is not a trace document: {error}",
            hint="hindmost trace SERVER --json > trace.json",
            path=str(trace),
        ) from None
    return sorted((row for row in rows if row.share), key=lambda row: -row.share)[:SHOWN_CULPRITS]
