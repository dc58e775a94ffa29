"""Batching: send each scheduled request alone, by Nagle's algorithm, or together within an interval."""

from __future__ import annotations

from typing import Any, Literal

from hindmost.core.plan.units import parse_duration
from hindmost.errors import UsageError

Batching = Literal["none", "nagle"] | float
"""A number is an interval in seconds: requests scheduled within it on one connection are sent together."""
SHORTEST_S = 1e-6


def parse_batching(text: str) -> Batching:
    """Read ``--batching``.

    >>> parse_batching("none"), parse_batching("nagle"), parse_batching("1ms")
    ('none', 'nagle', 0.001)

    Raises
    ------
    UsageError
        If it is neither a name nor a time.
    """
    if text in ("none", "nagle"):
        return "none" if text == "none" else "nagle"
    if not text[:1].isdigit() and not text.startswith("."):
        raise UsageError(
            "bad-value",
            f"--batching {text!r} is not none, nagle or an interval",
            hint="--batching 100us sends a connection's requests that are scheduled within 100 µs together",
            option="--batching",
            value=text,
            known=["none", "nagle"],
        )
    return parse_duration(text, "batching interval", SHORTEST_S)


def batching_document(batching: Batching) -> dict[str, Any] | str:
    """Return the form in the engine's plan.

    >>> batching_document(1e-4)
    {'interval': {'seconds': 0.0001}}
    """
    return batching if isinstance(batching, str) else {"interval": {"seconds": batching}}


def batching_text(batching: Batching) -> str:
    """Return the form that users write.

    >>> batching_text("nagle"), batching_text(0.00025)
    ('nagle', '250us')
    """
    return batching if isinstance(batching, str) else f"{batching * 1e6:.10g}us"
