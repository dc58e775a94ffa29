"""What decides a comparison, and whether further rounds could change it."""

from __future__ import annotations

from hindmost.commands.compare.documents.targets import Against, Comparison, Contrast, Outcome, Word

OUT_OF_REACH = 3
"""A percentile is given up if it seems to need this many times the rounds of the last look. The need is only
estimated, so one that the last look could decide must not be given up at the first.
"""


def deciding_contrasts(one: Against) -> dict[str, Contrast]:
    """Return the contrasts that decide about an arm, by percentile.

    If isolated latency decides, latency stands in for percentiles without it, but not for the mean, which
    contains all interference.
    """
    if one.decided_on == "latency":
        return one.latency
    return {name: contrast for name, contrast in one.latency.items() if name != "mean"} | one.isolated


def judge_contrasts(contrasts: dict[str, Contrast], *, distorted: bool) -> Outcome:
    """Return the verdict on an arm.

    Parameters
    ----------
    distorted : bool
        Whether the instrument distorted figures of this arm or of the first.
    """
    words = {one.word for one in contrasts.values()}
    if {"slower", "faster"} & words:
        return "different"
    if distorted and all(one.why for one in contrasts.values()):
        return "invalid"
    return "same" if words == {"same"} else "undecided"


def needs_rounds(word: Word, more: int | None, last_look: int) -> bool:
    """Whether further rounds may decide a percentile that seems to need `more` of them.

    >>> needs_rounds("undecided", 20, 32), needs_rounds("undecided", 200, 32), needs_rounds("same", 0, 32)
    (True, False, False)
    """
    return word == "undecided" and more is not None and more <= OUT_OF_REACH * last_look


def is_decided(document: Comparison) -> bool:
    """Whether every limit is decided or, without limits, every percentile that can be."""
    if document.limits:
        return all(limit.result != "undecided" for limit in document.limits)
    contrasts = [one for arm in document.against for one in deciding_contrasts(arm).values()]
    return not any(needs_rounds(one.word, one.more, document.looks[-1]) for one in contrasts)
