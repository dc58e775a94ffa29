"""Sentences of a comparison: the text of each arm, and the headline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindmost.commands.compare.documents.targets import Against, Contrast
from hindmost.commands.compare.targets.decision import deciding_contrasts
from hindmost.present import numbers

FACTOR = 2.0
"""Larger ratios are written as a factor: 2.4 times, not +140 %."""
WITHIN_REACH = 200
"""Most additional runs or pairs that are worth a suggestion: about half an hour."""


def describe_arm(one: Against, margin: float) -> str:
    """Describe all percentiles of an arm, those of the latency that decides first."""
    unit = "run" if one.pairs is None else "pair"
    latency = _describe_table(one.latency, margin, unit)
    if not one.isolated:
        return latency
    isolated = _describe_table(one.isolated, margin, unit)
    if one.decided_on == "isolated":
        return f"isolated: {isolated}. Latency: {latency}"
    return f"{latency}. Isolated: {isolated}"


def _describe_table(table: Mapping[str, Contrast], margin: float, unit: str) -> str:
    """Describe all percentiles, different ones first; `unit` is ``run`` or ``pair``."""
    parts = [
        f"{name} {one.word} by {_amount(one)}"
        for name, one in table.items()
        if one.word in ("slower", "faster")
    ]
    if same := [name for name, one in table.items() if one.word == "same"]:
        parts.append(f"{', '.join(same)} same within {numbers.percent(margin)}")
    by_reason: dict[str, list[str]] = {}
    for name, one in table.items():
        if one.word == "undecided":
            by_reason.setdefault(_why_undecided(one, unit), []).append(name)
    parts += [f"{', '.join(names)} {reason}" for reason, names in by_reason.items()]
    return "; ".join(parts)


def _amount(one: Contrast) -> str:
    # Without a sign, since the word gives the direction: ``8.1 % [5.2 %, 11 %]``.
    ratio = one.ratio
    value, low, high = ratio.value, ratio.low, ratio.high
    if value is None:
        return "without end"
    if one.word == "faster":
        return _shares([None if x is None else 1.0 - x for x in (value, high, low)])
    if value >= FACTOR:
        ends = ", ".join(numbers.INFINITE if end is None else f"{end:.3g}" for end in (low, high))
        return f"a factor of {value:.3g} [{ends}]"
    return _shares([None if x is None else x - 1.0 for x in (value, low, high)])


def _shares(values: Sequence[float | None]) -> str:
    value, low, high = (numbers.INFINITE if x is None else f"{100 * x:.2g}{numbers.THIN}%" for x in values)
    return f"{value} [{low}, {high}]"


def _why_undecided(one: Contrast, unit: str) -> str:
    if one.why:
        return "not comparable"
    if one.more is None:
        return "not decided"
    if one.more > WITHIN_REACH:
        return "not decided, and not within reach here"
    return f"not decided: about {numbers.plural(one.more, f'more {unit}')}"


def headline(against: Sequence[Against], first: str, margin: float) -> str:
    """Return the answer in one sentence; with several arms, those with the same outcome together."""
    if len(against) == 1:
        one = against[0]
        return f"{one.side} against {first}: {one.text}"
    groups: dict[str, list[str]] = {}
    for one in against:
        groups.setdefault(_direction(one), []).append(one.side)
    words = {
        "slower": f"slower than {first}",
        "faster": f"faster than {first}",
        "different": f"slower than {first} in some percentiles, faster in others",
        "same": f"same as {first} within {numbers.percent(margin)}",
        "undecided": f"shown neither to differ from {first} nor to be the same",
        "invalid": "distorted by the instrument",
    }
    return "; ".join(f"{', '.join(groups[word])}: {words[word]}" for word in words if word in groups)


def _direction(one: Against) -> str:
    if one.verdict != "different":
        return one.verdict
    words = {contrast.word for contrast in deciding_contrasts(one).values()} & {"slower", "faster"}
    return words.pop() if len(words) == 1 else "different"
