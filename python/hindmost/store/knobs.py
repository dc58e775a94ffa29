"""The document of ``hindmost host knobs --json``: its types.

``list`` gives ``knobs`` and ``kinds``, ``get`` and ``set`` one setting, ``restore`` the ``restored`` ones.
"""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.engine import Knob, Restored
from hindmost.store.types import Note

SCHEMA_NAME = "hindmost.knobs/1"


class KnobKind(TypedDict):
    """A setting that studies may vary: its form in a study file, its levels, why it is ``missing`` here."""

    kind: str
    about: str
    example: str
    levels: str
    keys: dict[str, str]
    missing: str | None
    missing_note: NotRequired[Note | None]


class Knobs(TypedDict):
    """The output of ``hindmost host knobs``."""

    schema: Literal["hindmost.knobs/1"]
    knobs: NotRequired[list[Knob]]
    kinds: NotRequired[list[KnobKind]]
    restored: NotRequired[list[Restored]]
