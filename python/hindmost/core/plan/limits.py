"""The limits of ``--require``: checked against each other and against what is measured."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from hindmost import _engine
from hindmost.core.names import nearest
from hindmost.core.plan.measure import MeasurePlan
from hindmost.core.plan.term import THROUGHPUT, Term, parse_term
from hindmost.errors import UsageError


def parse_limits(texts: Sequence[str]) -> tuple[Term, ...]:
    """Read limits; one text may hold several, separated by commas.

    >>> [term.key for term in parse_limits(["p99<5ms, errors<1%", "throughput>49k"])]
    ['p99', 'errors', 'throughput']

    Raises
    ------
    UsageError
        If a limit cannot be read, or no result could meet all of them.
    """
    # A comma between brackets belongs to the name of a request.
    terms = tuple(parse_term(part) for text in texts for part in re.split(r",(?![^\[\]]*\])", text))
    for low in (term for term in terms if term.above):
        for high in (term for term in terms if not term.above):
            if _never_below(low, high) and high.limit <= low.limit:
                same = "" if low.key == high.key else f", and {high.key} is never below {low.key}"
                raise UsageError(
                    "conflicting-options",
                    f"--require {high.text!r} and {low.text!r} contradict each other: nothing is below"
                    f" {high.write(high.limit)} and above {low.write(low.limit)}{same}",
                    hint=f"leave out one of them: --require {high.text!r}",
                    option="--require",
                    value=high.text,
                    other=low.text,
                )
    return terms


def check_limits(plan: MeasurePlan, terms: Sequence[Term], *, stored: bool = False) -> MeasurePlan:
    """Return the plan, if it measures all limited figures.

    Raises
    ------
    UsageError
        If a percentile, messages or sessions are not measured, the workload has no request of a name, or the
        required throughput exceeds the requested rate.
    """
    for term in terms:
        if term.request is not None and not stored:
            _refuse_unknown(plan, term, term.request)
        refuse_unmeasured_times(plan, term, "--require")
        if term.level is not None and term.level not in plan.quantiles:
            names = ",".join(name[1:] for name in plan.labels)
            raise UsageError(
                "unmeasured-percentile",
                f"--require {term.text!r} names a percentile that is not measured",
                hint=f"this study has {', '.join(plan.labels)}"
                if stored
                else f"--quantiles {names},{term.name[1:]}",
                option="--require",
                value=term.text,
                name=term.name,
                known=list(plan.labels),
            )
        if term.name == THROUGHPUT and term.above and plan.rate_per_s and term.limit >= plan.rate_per_s:
            raise UsageError(
                "unreachable-limit",
                f"--require {term.text!r} cannot be met at a rate of {plan.rate_per_s:g}/s: the server"
                " cannot answer more requests than it receives",
                hint=f"throughput>{0.98 * plan.rate_per_s:.6g}{'' if stored else ', or a higher --rate'}",
                option="--require",
                value=term.text,
                limit=term.limit,
                rate_per_s=plan.rate_per_s,
            )
    return plan


def refuse_unmeasured_times(plan: MeasurePlan, term: Term, option: str) -> None:
    """Refuse a limit on messages or sessions that are not measured.

    Raises
    ------
    UsageError
        If the plan does not ask for messages, or its requests form no sessions.
    """
    if term.time == "session" and plan.think_s is None:
        raise UsageError(
            "missing-argument",
            f"{option} {term.text!r} limits sessions, but the requests form none",
            hint='a workload file with "session": {"think_s": 1}',
            option="--workload",
            value=term.text,
        )
    if term.time in ("first_message", "message_gap") and not plan.stream:
        raise UsageError(
            "missing-argument",
            f"{option} {term.text!r} limits the messages of streamed replies, which only --stream measures",
            hint="--stream",
            option="--stream",
            value=term.text,
        )


def _refuse_unknown(plan: MeasurePlan, term: Term, request: str) -> None:
    """Refuse a limit on a request that the workload does not have."""
    try:
        known = _engine.request_names(json.dumps(plan.workload))
    except _engine.EngineError:
        return  # the check of the plan reports what is wrong with the workload
    if request not in known:
        raise UsageError(
            "unknown-name",
            f"--require {term.text!r} names a request that the workload does not have"
            f"{nearest(request, known[:20])}",
            hint="write the name as results do under by_kind: get:/cart for a request without a name",
            option="--require",
            value=term.text,
            name=request,
            known=known,
        )


def _never_below(low: Term, high: Term) -> bool:
    """Whether the figure of `high` is never below that of `low`: itself, or a higher percentile."""
    if low.key == high.key:
        return True
    same = (low.isolated, low.request, low.time) == (high.isolated, high.request, high.time)
    both = same and low.level is not None and high.level is not None
    return both and (high.level or 0.0) >= (low.level or 0.0)
