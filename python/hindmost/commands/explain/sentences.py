"""The answer in five sentences: the tail, its origin, the gain, rejected changes, the next step."""

from __future__ import annotations

import math

from hindmost.commands.explain import split
from hindmost.commands.explain.document import Explanation, Ratio
from hindmost.core.tracing.profile import describe_function, top_functions
from hindmost.present import numbers

MOST_NAMED = 3
REJECTED = ("dropped", "not confirmed", "refuted")
MOST_FUNCTIONS = 3


def headline(doc: Explanation) -> str:
    """Return the answer in one sentence."""
    confirmation = doc.confirmation
    ratio = None if confirmation is None else confirmation.ratios.get(doc.by)
    if confirmation is None or ratio is None:
        return f"undecided: no change could be confirmed within {numbers.seconds(doc.budget_s)}"
    changes = " and ".join(confirmation.labels)
    if doc.verdict == "gain":
        return f"{changes} lowers {doc.by} by {_gain(ratio)}"
    if doc.verdict == "no-gain":
        return f"nothing to gain: {changes} changes {doc.by} by {_change(ratio)}"
    return f"undecided: {changes} changes {doc.by} by {_change(ratio)}"


def write_sentences(doc: Explanation, present_us: float | None, go_on: str) -> tuple[str, ...]:
    """Return five sentences: the tail, its origin, the confirmed change, rejected changes, the next step."""
    return (
        f"{doc.target} at {numbers.rate(doc.rate_per_s)} has a {doc.by} of"
        f" {numbers.latency(present_us, missing=numbers.INFINITE)} on this host.",
        _origin(doc),
        _confirmation(doc),
        _rejections(doc),
        _next_step(doc, go_on),
    )


def _origin(doc: Explanation) -> str:
    if not doc.parts:
        return "Its origin is unknown: the server's requests could not be traced here."
    most = sorted(doc.parts, key=lambda one: -(one.of_variance or 0.0))[:MOST_NAMED]
    named = ", ".join(f"{one.name} {numbers.percent(round(one.of_variance or 0.0, 2))}" for one in most)
    slow = [one for one in doc.parts if one.of_slowest is not None]
    worst = max(slow, key=split.weight, default=None)
    who = ""
    if doc.culprits:
        first = doc.culprits[0]
        kind = "" if first.name in first.kind else f" ({first.kind})"
        who = f"; the first culprit is {first.kind if not kind else first.name}{kind}"
    own = "The tail is mostly the server's own code: " if (doc.own_code or 0.0) >= split.OWN else ""
    of_slow = ""
    if worst is not None:
        share = numbers.percent(round(split.weight(worst), 2))
        of_slow = f", and the slowest 1 % of requests spend {share} of their time on the host in {worst.name}"
    return f"{own}{'its' if own else 'Its'} variance arises in {named}{of_slow}{who}{_functions(doc)}."


def _functions(doc: Explanation) -> str:
    """Name the functions on which slow requests spend more CPU time."""
    found = top_functions(doc.profile, MOST_FUNCTIONS)
    if not found:
        return ""
    shares = ((one, numbers.percent(round(one.of_slowest, 2))) for one in found)
    named = ", ".join(f"{describe_function(one)} {share}" for one, share in shares)
    return f"; the CPU time of the slowest requests goes to {named}"


def _confirmation(doc: Explanation) -> str:
    confirmation = doc.confirmation
    if confirmation is None:
        return "Nothing was confirmed."
    change = f"{' and '.join(confirmation.labels)} changes {doc.by} by {_change(confirmation.ratios[doc.by])}"
    text = f"{change} in {confirmation.pairs} fresh pairs"
    names = [name for name in ("p50", "throughput") if name in confirmation.ratios and name != doc.by]
    others = " and ".join(f"{name} by {_change(confirmation.ratios[name])}" for name in names)
    word = "Confirmed" if doc.verdict == "gain" else "No gain" if doc.verdict == "no-gain" else "Not decided"
    return f"{word}: {text}{', ' + others if others else ''}."


def _rejections(doc: Explanation) -> str:
    dropped = [one for one in doc.trials if one.outcome in REJECTED and one.ratio is not None]
    if not dropped:
        return "No other change was tried." if len(doc.trials) < 2 else "No tried change looked worse."
    named = ", ".join(
        f"{one.label} ({numbers.change(one.ratio.value - 1.0)})" for one in dropped if one.ratio
    )
    return f"Dropped: {named}."


def _next_step(doc: Explanation, go_on: str) -> str:
    need = doc.resolution.budget_s
    if doc.verdict == "gain":
        if doc.applied:
            return f"{', '.join(doc.applied)} is in force now; to undo it: {doc.undo}."
        kept = [one.candidate.what for one in doc.trials if one.outcome in ("confirmed", "in combination")]
        if any("knob" in what for what in kept):
            return f"To keep the host's settings: {go_on} --apply."
        if any("cpu_dma_latency" in what for what in kept):
            return "Keep CPUs out of deep idle states while the server runs (tuned: latency-performance)."
        return "Start the server with this change."
    if doc.resolution.scatter is None and doc.trials and need is not None:
        return f"Enough pairs take about {numbers.seconds(need)}: {_longer(go_on, need)}."
    if any(one.name == split.CLIENT and (one.of_variance or 0.0) >= split.OWN for one in doc.parts):
        return "Most of the variance arises in the client: first give it its own CPUs or its own machine."
    if doc.own_code is not None and doc.own_code >= split.OWN:
        named = [describe_function(one) for one in top_functions(doc.profile, 1)]
        what = f"Look at {named[0]}" if named else "Profile the server on its slow requests"
        return f"{what}: no setting makes the server's own work more even."
    if (seconds := doc.resolution.budget_seen_s) is not None:
        text = f"Deciding a change of this size takes about {numbers.seconds(seconds)}"
        return f"{text}: {_longer(go_on, seconds)}."
    if need is not None and need > doc.budget_s:
        return f"To decide 10 % here takes about {numbers.seconds(need)}: {_longer(go_on, need)}."
    return "Try a change beyond the catalogue: declare its levels under [settings] in a target file."


def _longer(go_on: str, budget_s: float) -> str:
    """Return the command that resumes the study with a larger budget, in whole minutes."""
    return f"{go_on} --budget {math.ceil(budget_s / 60)}m"


def _change(ratio: Ratio) -> str:
    value = numbers.change(ratio.value - 1.0)
    if ratio.low is None or ratio.high is None:
        return value
    return f"{value} [{numbers.change(ratio.low - 1.0)}, {numbers.change(ratio.high - 1.0)}]"


def _gain(ratio: Ratio) -> str:
    low = "" if ratio.high is None else f", at least {numbers.percent(1.0 - ratio.high)}"
    return f"{numbers.percent(round(1.0 - ratio.value, 3))}{low}"
