"""Study folders: what a measurement leaves on disk, whole or not at all."""

from hindmost.core.store.kinds import name_of
from hindmost.core.store.study import StoredRun, Study, now_utc

__all__ = ["StoredRun", "Study", "name_of", "now_utc"]
