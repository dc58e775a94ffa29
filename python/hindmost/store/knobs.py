"""The document that ``hindmost knobs --json`` prints: its types.

``list`` gives ``knobs`` and ``kinds``, ``get`` and ``set`` one knob, ``restore`` what was ``restored``.

History: ``hindmost.knobs/1`` (0.1.0), the first.
"""

from typing import Literal, NotRequired, TypedDict

SCHEMA_NAME = "hindmost.knobs/1"


class HostKnob(TypedDict):
    """A setting of the host, as the engine tells it (crates/host/src/knobs).

    ``value`` is null where it is absent, ``missing`` says why it cannot be set, ``found`` what it was before
    Hindmost changed it; ``choices`` is empty where any value may do; ``files`` are relative to the root.
    """

    name: str
    about: str
    value: str | None
    choices: list[str]
    missing: str | None
    found: str | None
    files: list[str]


class KnobKind(TypedDict):
    """What else a study may vary: what its file writes, with which levels, and what is ``missing`` of it."""

    kind: str
    about: str
    example: str
    levels: str
    keys: dict[str, str]
    missing: str | None


class Restored(TypedDict):
    """What was put back, the last change first; ``failure`` where it was not, and is still in the journal."""

    name: str
    value: str
    failure: str | None


class Knobs(TypedDict):
    """What ``hindmost knobs`` says."""

    schema: Literal["hindmost.knobs/1"]
    knobs: NotRequired[list[HostKnob]]
    kinds: NotRequired[list[KnobKind]]
    restored: NotRequired[list[Restored]]
