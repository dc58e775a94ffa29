"""The documents of ``hindmost host``.

``knobs list`` gives ``knobs`` and ``kinds``, ``get`` and ``set`` one setting, ``restore`` the ``restored``
ones.
"""

from typing import Literal

from msgspec import UNSET, UnsetType

from hindmost.core.store.engine import Finding, HostFacts, Knob, Noise, Restored
from hindmost.core.store.types import Document, Note


class Privilege(Document):
    """Rights that a command needs: capabilities(7), root's files (``owner``); ``met``: it has them."""

    command: str
    capabilities: tuple[str, ...]
    owner: bool
    why: str
    met: bool


class Doctor(Document):
    """What on this host distorts a measurement, and which commands have the rights that they need."""

    schema: Literal["hindmost.doctor/2"]
    facts: HostFacts
    noise: Noise | None
    findings: list[Finding]
    privileges: list[Privilege] | UnsetType = UNSET


class KnobKind(Document):
    """A setting that studies may vary: its form in a study file, its levels, why it is ``missing`` here."""

    kind: str
    about: str
    example: str
    levels: str
    keys: dict[str, str]
    missing: str | None
    missing_note: Note | UnsetType | None = UNSET


class Knobs(Document):
    """The output of ``hindmost host knobs``."""

    schema: Literal["hindmost.knobs/1"] = "hindmost.knobs/1"
    knobs: list[Knob] | UnsetType = UNSET
    kinds: list[KnobKind] | UnsetType = UNSET
    restored: list[Restored] | UnsetType = UNSET
