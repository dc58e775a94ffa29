"""``--fail-if``: whether the interval of a change lies beyond a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.commands.compare.documents.targets import Against, Comparison, Contrast, Limit, Result
from hindmost.core.exits import Exit
from hindmost.core.plan import ChangeLimit
from hindmost.errors import UsageError
from hindmost.present import numbers

RESULTS: dict[Result, Exit] = {"crossed": Exit.CROSSED, "undecided": Exit.INCONCLUSIVE, "held": Exit.DONE}
"""Exit codes by result, the worst first."""


def judge_limits(limits: Sequence[ChangeLimit], against: Sequence[Against]) -> list[Limit]:
    """Judge each limit for each arm.

    Raises
    ------
    UsageError
        If a limit names a figure that an arm does not have.
    """
    return [_judge(limit, arm) for limit in limits for arm in against]


def _judge(limit: ChangeLimit, arm: Against) -> Limit:
    isolated = limit.isolated or (arm.decided_on == "isolated" and limit.figure in arm.isolated)
    contrast = _contrast(limit, arm, isolated=isolated)
    ratio, difference = contrast.ratio, contrast.difference_us
    if limit.unit == "share":
        value, low, high = ((None if x is None else x - 1.0) for x in (ratio.value, ratio.low, ratio.high))
    else:
        value, low, high = difference.value, difference.low, difference.high
    if contrast.word == "slower" and value == math.inf:
        result: Result = "crossed" if limit.above else "held"
    else:
        result = "undecided" if contrast.why else _result(limit, low, high)
    figure = f"isolated {limit.figure}" if isolated else limit.figure
    said = f"{arm.side}: {figure} {_format(limit, value)}"
    if low is not None or high is not None:
        said += f" [{_format(limit, low)}, {_format(limit, high)}]"
    return Limit(
        text=limit.text,
        side=arm.side,
        figure=limit.figure,
        value=value,
        low=low,
        high=high,
        unit=limit.unit,
        result=result,
        said=said + (f"; {contrast.why.text}" if contrast.why else ""),
    )


def _contrast(limit: ChangeLimit, arm: Against, *, isolated: bool) -> Contrast:
    table = arm.isolated if isolated else arm.latency
    if limit.figure in table:
        return table[limit.figure]
    figure = f"isolated {limit.figure}" if limit.isolated else limit.figure
    problem, hint, known = f"not all studies measured {figure}", f"they have {', '.join(table)}", list(table)
    if limit.isolated and not table:
        problem = "not both sides have isolated latency"
        hint, known = f"--fail-if '{limit.text[5:]}'", list(arm.latency)
    raise UsageError(
        "unknown-name",
        f"--fail-if {limit.text!r}: {problem}",
        hint=hint,
        option="--fail-if",
        name=figure,
        known=known,
    )


def _result(limit: ChangeLimit, low: float | None, high: float | None) -> Result:
    if limit.above:
        if low is not None and low > limit.limit:
            return "crossed"
        return "held" if high is not None and high <= limit.limit else "undecided"
    if high is not None and high < limit.limit:
        return "crossed"
    return "held" if low is not None and low >= limit.limit else "undecided"


def _format(limit: ChangeLimit, value: float | None) -> str:
    if value is None:
        return "not known"
    if math.isinf(value):
        return numbers.number(value)
    if limit.unit == "share":
        return numbers.change(value)
    return f"{'+' if value > 0 else ''}{numbers.latency(value)}"


def exit_code(document: Comparison) -> Exit:
    """Return the exit code: the worst limit decides; without limits, the verdict."""
    if document.limits:
        results = {one.result for one in document.limits}
        worst = next(result for result in RESULTS if result in results)
        if worst == "undecided" and document.verdict == "invalid":
            return Exit.INVALID
        return RESULTS[worst]
    return {"undecided": Exit.INCONCLUSIVE, "invalid": Exit.INVALID}.get(document.verdict, Exit.DONE)
