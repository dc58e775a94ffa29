"""The document of ``hindmost study list --json`` (``hindmost.list/1``)."""

from typing import Literal

from hindmost.core.store.estimates import Value
from hindmost.core.store.types import Count, Document, Note


class StudyEntry(Document):
    """One study, from its manifest and its result.

    ``folder``: relative to the listed folder. ``verdict``: null without a result yet. ``busy``: another
    process is working in it. ``fault``: why it cannot be read; all other figures are null then.
    """

    folder: str
    kind: str | None = None
    target: str | None = None
    rate_per_s: float | None = None
    load: str | None = None
    created: str | None = None
    verdict: str | None = None
    headline: str | None = None
    runs: Count = 0
    latency_us: dict[str, Value]
    page: str | None = None
    busy: bool = False
    fault: Note | None = None


class Listing(Document):
    """All studies below a folder, the oldest first; parts of studies are not listed."""

    schema: Literal["hindmost.list/1"]
    version: str
    created: str
    folder: str
    studies: list[StudyEntry]
