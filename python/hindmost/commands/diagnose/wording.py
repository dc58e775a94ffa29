"""How a diagnosis words states, shares and signatures."""

from __future__ import annotations

from hindmost.commands.diagnose.document import Correction, Evidence, Likeness
from hindmost.present import numbers

STATES = {
    "explains": "explains the slowdown",
    "part": "explains a small part",
    "ruled out": "ruled out",
    "open": "undecided",
    "normal load": "load is not higher than normal",
    "load": "sends the load; whether it is higher than normal is unknown",
    "beyond": "removes more than the slowdown, because it removes load",
    "other signature": "other metrics do not recover",
    "reproduces": "makes the replica equally slow",
    "too much": "makes the replica far slower than the host",
}


def state_text(one: Evidence) -> str:
    """Return the result of an experiment; empty for the sham."""
    return "" if one.name == "sham" else STATES[one.state]


def share_text(share: float | None) -> str:
    """Format a share in whole percent; empty if it is unknown."""
    return "" if share is None else numbers.percent(round(share, 2) + 0.0)


def likeness_text(found: Likeness) -> str:
    """Say whether metrics that moved with the slowdown recover without a suspect."""
    if found.why or found.residual is None or found.low is None or found.high is None:
        return f"other metrics are not compared: {found.why}"
    word = {True: "recover", False: "do not recover", None: "may recover"}[found.fits]
    stays = ", ".join(f"{one.name} {share_text(one.left)}".strip() for one in found.stays)
    most = f"; mostly {stays}" if stays and found.fits is not True else ""
    return (
        f"other metrics {word}: {share_text(found.residual)} of their shift remains"
        f" ({share_text(found.low)} to {share_text(found.high)}){most}"
    )


def correction_text(one: Correction) -> str:
    """Say what was changed permanently, or why not."""
    text = f"{'Kept' if one.kept else 'Not kept'}: {one.about or 'no correction was tested'}; {one.why}."
    if not one.after_us:
        return text
    before, after = numbers.latency(one.before_us or None), numbers.latency(one.after_us)
    return f"{text} The percentile was {before} before and {after} with it."
