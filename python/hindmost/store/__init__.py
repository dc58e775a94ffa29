"""Study folders: what a measurement leaves on disk, whole or not at all."""

from hindmost.store.study import RunRecord, Study, now_utc

__all__ = ["RunRecord", "Study", "now_utc"]
