"""What ``hindmost list --json`` writes (``hindmost.list/1``): its types, the source of its JSON Schema.

History of the format: ``hindmost.list/1`` (0.1.0), the first.
"""

from typing import Literal, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.types import Count


class Listed(TypedDict):
    """One study, by its manifest and its answer.

    ``folder``: within the folder that was listed. ``verdict``: null where there is no answer yet. ``busy``:
    somebody is at work in it. ``fault``: why it cannot be read; nothing else is known then.
    """

    folder: str
    kind: str | None
    target: str | None
    rate_per_s: float | None
    load: str | None
    created: str | None
    verdict: str | None
    headline: str | None
    runs: Count
    latency_us: dict[str, Value]
    page: str | None
    busy: bool
    fault: str | None


class Listing(TypedDict):
    """All studies below a folder, the oldest first; parts of studies are not listed."""

    schema: Literal["hindmost.list/1"]
    version: str
    created: str
    folder: str
    studies: list[Listed]
