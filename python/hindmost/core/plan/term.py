"""One limit on one figure, as users write it: ``p99<5ms``, ``failed<1%``, ``throughput>49k``.

``--require``, ``--find-rate`` and ``clone sweep --find`` use these limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from hindmost.core.names import nearest
from hindmost.core.plan.units import (
    format_us,
    label,
    parse_duration,
    parse_percent,
    parse_quantiles,
    parse_rate,
)
from hindmost.errors import UsageError

Outcomes = tuple[Literal["errors", "misses", "timeouts", "unsent"], ...]
SHARES: dict[str, tuple[Outcomes, Literal["scheduled", "completed"]]] = {
    "failed": (("errors", "timeouts", "unsent"), "scheduled"),
    "errors": (("errors",), "scheduled"),
    "unanswered": (("timeouts", "unsent"), "scheduled"),
    "misses": (("misses",), "completed"),
}
"""Shares of requests: the counts in the numerator, and the count in the denominator."""
THROUGHPUT = "throughput"
Unit = Literal["us", "share", "per_s"]
Time = Literal["latency", "first_message", "message_gap", "session"]
TIMES: dict[str, Time] = {"first": "first_message", "gap": "message_gap", "session": "session"}
"""Prefixes of limits on the messages of streamed replies and on sessions, and the times that they limit."""
EXAMPLES = (
    "'p99<5ms', 'mean<1ms', 'isolated p99<5ms', 'first p99<200ms', 'gap p99<50ms',"
    " 'session p95<8s', 'failed<1%', 'errors<1%', 'unanswered<1%', 'misses<5%' or 'throughput>49k'"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One limit: ``name`` stays below ``limit``, or ``above`` it.

    ``limit``: in microseconds, as a fraction for a share, or per second for throughput. ``isolated``: of
    isolated latency instead of latency. ``span``: of the ``first`` message of a streamed reply, of the
    ``gap`` between two, or of a whole ``session``. ``request``: only of requests with this name. ``text``:
    the limit as written.
    """

    name: str
    limit: float
    isolated: bool = False
    above: bool = False
    request: str | None = None
    span: str | None = None
    text: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """Its unique key: ``p99``, ``isolated p99``, ``first p99``, ``errors``, ``p99[checkout]``."""
        name = self.name if self.request is None else f"{self.name}[{self.request}]"
        prefix = "isolated" if self.isolated else self.span
        return f"{prefix} {name}" if prefix else name

    @property
    def time(self) -> Time:
        """What it limits, if it limits a time."""
        return TIMES[self.span] if self.span else "latency"

    @property
    def is_share(self) -> bool:
        """Whether it limits a share of requests."""
        return self.name in SHARES

    @property
    def is_latency(self) -> bool:
        """Whether it limits a latency or another time."""
        return not self.is_share and self.name != THROUGHPUT

    @property
    def unit(self) -> Unit:
        """The unit of the limit."""
        return "us" if self.is_latency else "share" if self.is_share else "per_s"

    @property
    def level(self) -> float | None:
        """The quantile's level; None for the mean, for shares and for throughput."""
        return round(float(self.name[1:]) / 100.0, 12) if self.name[0] == "p" else None

    def write(self, value: float) -> str:
        """Format a value of this term.

        >>> Term("p99", 500.0).write(431.2), Term("errors", 0.001).write(0.0004)
        ('431 µs', '0.04 %')
        >>> Term("throughput", 49_000.0).write(49_876.1)
        '49,900/s'
        """
        if self.is_latency:
            return format_us(value)
        return f"{100.0 * value:.3g} %" if self.is_share else f"{float(f'{value:.3g}'):,.12g}/s"


def parse_term(text: str, what: str = "limit", examples: str = EXAMPLES) -> Term:
    """Read one limit.

    >>> parse_term("isolated p99 < 500us").key, parse_term("throughput>49k").limit
    ('isolated p99', 49000.0)
    >>> parse_term("p99[get:/cart]<50ms").request
    'get:/cart'
    >>> parse_term("first p99<200ms").time
    'first_message'

    Parameters
    ----------
    what, examples : str
        Its name in messages, and examples of its form.

    Raises
    ------
    UsageError
        If it cannot be read, or limits a figure that is not measured.
    """
    # Version 0.1 used the name `isolated`.
    figure = (
        r"\s*((?:isolated|calm|first|gap|session)\s+)?([a-z]+(?:\d{1,3}(?:\.\d+)?)?)(?:\[(?P<request>.+)\])?"
    )
    match = re.fullmatch(figure + r"\s*(?P<side>[<>])=?\s*(?P<limit>.+?)\s*", text)
    if match is None:
        raise UsageError(
            "bad-value",
            f"{what} {text.strip()!r} cannot be read",
            hint=f"write it like {examples}",
            name=what,
            value=text.strip(),
        )
    prefix, name, above, request = (match[1] or "").strip(), match[2], match["side"] == ">", match["request"]
    isolated = prefix in ("isolated", "calm")
    span = prefix if prefix in TIMES else None
    if re.fullmatch(r"p\d{1,3}(\.\d+)?", name):
        name = label(parse_quantiles(name)[0])
    elif name == "max":
        raise UsageError(
            "unsupported",
            f"{what} {text.strip()!r}: a maximum grows with the number of requests, so it has no interval",
            hint=f"use a high percentile: {match[1] or ''}p99.9{match['side']}{match['limit']}",
            name="max",
            value=text.strip(),
        )
    elif name not in ("mean", THROUGHPUT, *SHARES):
        known = ("p99", "mean", *SHARES, THROUGHPUT)
        raise UsageError(
            "unknown-name",
            f"{what} {text.strip()!r} limits {name!r}, which is not measured{nearest(name, known)}",
            hint=f"write it like {examples}",
            name=name,
            value=text.strip(),
            known=list(known),
        )
    if isolated and name[0] != "p":
        raise UsageError(
            "unsupported",
            f"isolated latency has percentiles but no {name}",
            hint="'isolated p99<500us'",
            name=f"isolated {name}",
            value=text.strip(),
        )
    if span and (name == THROUGHPUT or name in SHARES or what not in ("limit", "objective")):
        raise UsageError(
            "unsupported",
            f"{what} {text.strip()!r}: only --require and --find-rate limit messages and sessions, by a"
            " percentile or the mean of their times",
            hint=f"'{span} p99<200ms'",
            name=f"{span} {name}",
            value=text.strip(),
        )
    if request is not None and (isolated or span or name == THROUGHPUT or what != "limit"):
        raise UsageError(
            "unsupported",
            f"{what} {text.strip()!r}: only --require limits single requests, by their latency or by failed,"
            " errors, unanswered or misses",
            hint=f"--require 'p99[{request}]<5ms'",
            name=name,
            value=text.strip(),
        )
    return Term(name, _limit(name, match["limit"], text), isolated, above, request, span, text.strip())


def share(name: str, counts: object) -> tuple[int, int]:
    """Return the number of requests in a share, and of how many; a run without requests has a base of 1.

    `counts` is a `hindmost.core.store.types.Counts`.

    >>> from types import SimpleNamespace
    >>> share("unanswered", SimpleNamespace(scheduled=100, timeouts=3, unsent=1))
    (4, 100)
    """
    outcomes, base = SHARES[name]
    return sum(getattr(counts, outcome) for outcome in outcomes), max(1, getattr(counts, base))


def _limit(name: str, written: str, text: str) -> float:
    if name == THROUGHPUT:
        return parse_rate(written)
    if name in SHARES:
        return parse_percent(written, f"limit of {name}")
    limit_s = parse_duration(written, f"limit of {name}")
    if limit_s <= 0.0:
        raise UsageError(
            "bad-value",
            f"limit {text.strip()!r} cannot be met: latencies are above 0",
            hint="'p99<500us'",
            name=name,
            value=text.strip(),
            least=0,
        )
    return limit_s * 1e6
