"""What ``hindmost study list --json`` writes (``hindmost.list/1``): its types, the source of its JSON Schema.

History of the format: ``hindmost.list/1`` (0.1.0), the first.
"""

from typing import Literal, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.types import Count, Note


class Listed(TypedDict):
    """One study, by its manifest and its answer.

    ``folder``: within the folder that was listed. ``verdict``: null where there is no answer yet. ``busy``:
    another process is working in it. ``fault``: why it cannot be read; all other figures are then null.
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
    fault: Note | None


class Listing(TypedDict):
    """All studies below a folder, the oldest first; parts of studies are not listed."""

    schema: Literal["hindmost.list/1"]
    version: str
    created: str
    folder: str
    studies: list[Listed]
