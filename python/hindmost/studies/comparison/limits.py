"""``--fail-if``: whether a side is beyond a limit of change, by the edge of its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.errors import UsageError
from hindmost.exits import Exit
from hindmost.plan import ChangeLimit
from hindmost.report.common import numbers
from hindmost.store.comparison import Against, Comparison, Limit

RESULTS = {"crossed": Exit.CROSSED, "undecided": Exit.INCONCLUSIVE, "held": Exit.DONE}


def judged(limits: Sequence[ChangeLimit], against: Sequence[Against]) -> list[Limit]:
    """Judge each limit of each side.

    Raises
    ------
    UsageError
        If a limit names a figure that not all sides have.
    """
    return [_judged(limit, one) for limit in limits for one in against]


def _judged(limit: ChangeLimit, one: Against) -> Limit:
    table = one["calm"] if limit.calm else one["latency"]
    if limit.figure not in table:
        figure = f"{'isolated ' if limit.calm else ''}{limit.figure}"
        if limit.calm and not table:
            raise UsageError(
                "unknown-name",
                f"--fail-if {limit.text!r}: not both sides have isolated latency",
                hint=f"--fail-if '{limit.text[5:]}'",
                option="--fail-if",
                name=figure,
                known=list(one["latency"]),
            )
        raise UsageError(
            "unknown-name",
            f"--fail-if {limit.text!r}: not all studies measured {figure}",
            hint=f"they have {', '.join(table)}",
            option="--fail-if",
            name=figure,
            known=list(table),
        )
    found = table[limit.figure]
    ratio, difference = found["ratio"], found["difference_us"]
    if limit.unit == "share":
        value, low, high = (
            (None if x is None else x - 1.0) for x in (ratio["value"], ratio["low"], ratio["high"])
        )
    else:
        value, low, high = difference["value"], difference["low"], difference["high"]
    if found["word"] == "slower" and value == math.inf:
        result = "crossed" if limit.above else "held"  # slower without end
    else:
        result = "undecided" if found["why"] else _side(limit, low, high)
    said = f"{one['side']}: {limit.figure} {_written(limit, value)}"
    if low is not None or high is not None:
        said += f" [{_written(limit, low)}, {_written(limit, high)}]"
    return {
        "text": limit.text,
        "side": one["side"],
        "figure": limit.figure,
        "value": value,
        "low": low,
        "high": high,
        "unit": limit.unit,
        "result": result,  # type: ignore[typeddict-item]
        "said": said + (f"; {found['why']['text']}" if found["why"] else ""),
    }


def _side(limit: ChangeLimit, low: float | None, high: float | None) -> str:
    """On which side of a limit an interval lies; an end that is not known decides nothing."""
    if limit.above:
        if low is not None and low > limit.limit:
            return "crossed"
        return "held" if high is not None and high <= limit.limit else "undecided"
    if high is not None and high < limit.limit:
        return "crossed"
    return "held" if low is not None and low >= limit.limit else "undecided"


def _written(limit: ChangeLimit, value: float | None) -> str:
    if value is None:
        return "not known"
    if math.isinf(value):
        return numbers.number(value)
    if limit.unit == "share":
        return numbers.change(value)
    return f"{'+' if value > 0 else ''}{numbers.latency(value)}"


def exit_of(document: Comparison) -> Exit:
    """What a comparison says to scripts.

    A limit that is crossed decides, whatever else is open; without limits, that anything was decided.
    """
    if document["limits"]:
        results = {one["result"] for one in document["limits"]}
        worst = next(result for result in RESULTS if result in results)
        if worst == "undecided" and document["verdict"] == "invalid":
            return Exit.INVALID
        return RESULTS[worst]
    return {"undecided": Exit.INCONCLUSIVE, "invalid": Exit.INVALID}.get(document["verdict"], Exit.DONE)
