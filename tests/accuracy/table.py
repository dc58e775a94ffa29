"""The table of claims: claim, outcome, figures, what the host took, attempts, time. Broken comes first, then undecided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.accuracy import limits
from tests.accuracy.claims import Settled
from tests.accuracy.judging import Attempt

ORDER = ("broken", "undecided", "held")


def lines(settled: Sequence[Settled]) -> Iterator[tuple[str, bool]]:
    """Lines for people, and whether each is one that matters."""
    for one in sorted(settled, key=lambda one: ORDER.index(one.decided)):
        yield f"{one.decided.upper():9}  {one.what} ({effort(one)})", one.decided != "held"
        for attempt in one.attempts:
            yield f"    {attempt}", False
            yield f"        {taken(attempt)}", False
    count = Counter(one.decided for one in settled)
    told = ", ".join(f"{count[name]} {name}" for name in reversed(ORDER))
    spent = sum(one.seconds for one in settled)
    yield f"{told}, in {spent:.0f} s; a claim is decided by {limits.AGREE} calm attempts that agree", True


def effort(one: Settled) -> str:
    """How often it was tried, and how long that took."""
    tried = len(one.attempts)
    return f"{tried} attempt{'s' if tried != 1 else ''}, {one.seconds:.0f} s"


def taken(attempt: Attempt) -> str:
    """What the host took meanwhile, by its counters."""
    host = attempt.host
    told = f"in {host.seconds:.1f} s: steal {host.steal:.1%}, others {host.foreign:.1%} ({attempt.bears:.0%} is borne)"
    if host.gaps is not None:
        told += f", gaps of a spin {host.gaps:.1%}"
    waited = "" if host.pressure is None else f", somebody waited {host.pressure:.0%} of the time"
    return f"{told}{waited}, {host.switches:.0f} switches/s"
