"""The table of claims: outcome, figures, interference, attempts, time. Broken claims come first, then undecided ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.accuracy import limits
from tests.accuracy.claims import SettledClaim
from tests.accuracy.judging import Attempt

ORDER = ("broken", "undecided", "held")


def render_lines(settled: Sequence[SettledClaim]) -> Iterator[tuple[str, bool]]:
    """Lines of the table, each with whether it is important."""
    for claim in sorted(settled, key=lambda claim: ORDER.index(claim.outcome)):
        yield f"{claim.outcome.upper():9}  {claim.what} ({render_effort(claim)})", claim.outcome != "held"
        for attempt in claim.attempts:
            yield f"    {attempt}", False
            yield f"        {render_interference(attempt)}", False
    count = Counter(claim.outcome for claim in settled)
    totals = ", ".join(f"{count[name]} {name}" for name in reversed(ORDER))
    seconds = sum(claim.seconds for claim in settled)
    yield (
        f"{totals}, in {seconds:.0f} s; {limits.AGREEING} attempts on a quiet host that agree decide a claim",
        True,
    )


def render_effort(claim: SettledClaim) -> str:
    """The number of attempts and their duration."""
    count = len(claim.attempts)
    return f"{count} attempt{'s' if count != 1 else ''}, {claim.seconds:.0f} s"


def render_interference(attempt: Attempt) -> str:
    """The interference during the attempt, according to the host's counters."""
    host = attempt.host
    text = (
        f"in {host.seconds:.1f} s: steal {host.steal:.1%}, other processes {host.foreign:.1%}"
        f" ({attempt.max_interference:.0%} is tolerated)"
    )
    if host.gaps is not None:
        text += f", gaps of a spin {host.gaps:.1%}"
    if host.pressure is not None:
        text += f", a task waited for a CPU {host.pressure:.0%} of the time"
    return f"{text}, {host.switches:.0f} switches/s"
