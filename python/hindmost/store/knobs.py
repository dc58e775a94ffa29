"""The document that ``hindmost host knobs --json`` prints: its types.

``list`` gives ``knobs`` and ``kinds``, ``get`` and ``set`` one knob, ``restore`` what was ``restored``.

History: ``hindmost.knobs/1`` (0.1.0), the first.
"""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.engine import Knob, Restored
from hindmost.store.types import Note

SCHEMA_NAME = "hindmost.knobs/1"


class KnobKind(TypedDict):
    """What else a study may vary: what its file writes, with which levels, and why it is ``missing`` here."""

    kind: str
    about: str
    example: str
    levels: str
    keys: dict[str, str]
    missing: str | None
    missing_note: NotRequired[Note | None]


class Knobs(TypedDict):
    """What ``hindmost host knobs`` says."""

    schema: Literal["hindmost.knobs/1"]
    knobs: NotRequired[list[Knob]]
    kinds: NotRequired[list[KnobKind]]
    restored: NotRequired[list[Restored]]
