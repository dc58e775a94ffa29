"""The document of ``hindmost study list --json`` (``hindmost.list/1``): types, source of its schema."""

from typing import Literal, TypedDict

from hindmost.core.store.estimates import Value
from hindmost.core.store.types import Count, Note


class StudyEntry(TypedDict):
    """One study, from its manifest and its result.

    ``folder``: relative to the listed folder. ``verdict``: null without a result yet. ``busy``: another
    process is working in it. ``fault``: why it cannot be read; all other figures are null then.
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
    studies: list[StudyEntry]
