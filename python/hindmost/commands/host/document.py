"""The documents of ``hindmost host``.

``knobs list`` gives ``knobs`` and ``kinds``, ``get`` and ``set`` one setting, ``restore`` the ``restored``
ones.
"""

from typing import Literal, NotRequired, TypedDict

from hindmost.core.store.engine import Checkup, Knob, Restored
from hindmost.core.store.types import Note

SCHEMA_NAME = "hindmost.knobs/1"


class Privilege(TypedDict):
    """Rights that a command needs: capabilities(7), root's files (``owner``); ``met``: it has them."""

    command: str
    capabilities: list[str]
    owner: bool
    why: str
    met: bool


class Doctor(Checkup):
    """What on this host distorts a measurement, and which commands have the rights that they need."""

    schema: Literal["hindmost.doctor/2"]
    privileges: NotRequired[list[Privilege]]


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
