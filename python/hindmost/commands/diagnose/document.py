"""The document of ``hindmost diagnose --json``: its types.

A sentence ``X`` has its code and values in ``X_note``; documents of 0.1 do not have these.
"""

from pathlib import Path
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from hindmost.core.store.reading import load
from hindmost.core.store.types import Document, Note
from hindmost.errors import StudyError

SCHEMA_NAME: Final = "hindmost.diagnosis/2"


class Pair(Document):
    """The percentile with a suspect present and with it removed, one after the other, in random order.

    ``at_s``: start of the pair, from the first pair of the diagnosis. ``without_first``: its order.
    """

    round: int
    at_s: float
    with_us: float
    without_us: float
    without_first: bool


class Stay(Document):
    """A metric that does not change back with a suspect: the part of its shift that stays."""

    name: str
    left: float | None


class Likeness(Document):
    """Whether the metrics that moved at the anomaly move with a suspect.

    ``residual``: the part of the shift, as a share of its length, that stays. ``fits``: None if undecided.
    ``why``: why it cannot be decided, else empty.
    """

    residual: float | None
    low: float | None
    high: float | None
    fits: bool | None
    stays: list[Stay]
    why: str
    why_note: Note | UnsetType | None = UNSET


class Evidence(Document):
    """One suspect: the percentile with it over the percentile without it, and its share of the anomaly.

    ``p``: of the sign-flip test, for this suspect alone. ``about``: how it was removed, or on a replica
    introduced. ``normal load``: load no higher than normal; ``load``: load whose normal level is unknown.
    ``beyond``: latency without it is lower than normal, so removing it removes load. ``other signature``: the
    metrics that moved with the latency stay. ``reach``: on a replica, the percentile with it over the
    affected host's. ``measured``: the pairs behind ``ratio``.
    """

    name: str
    about: str
    ratio: float
    low: float | None
    high: float | None
    p: float
    pairs: int
    share: float | None
    share_low: float | None
    share_high: float | None
    state: Literal[
        "explains",
        "part",
        "ruled out",
        "open",
        "normal load",
        "load",
        "beyond",
        "other signature",
        "reproduces",
        "too much",
    ]
    signature: Likeness | None
    reach: float | None
    measured: list[Pair]


class Correction(Document):
    """What was changed permanently, or why not; ``refused``: corrections tried earlier without success.

    ``measured``: its pairs, where ``without`` is with the correction in force.
    """

    about: str | UnsetType = UNSET
    refused: list[str] | UnsetType = UNSET
    before_us: float | UnsetType = UNSET
    after_us: float | UnsetType = UNSET
    measured: list[Pair] | UnsetType = UNSET
    kept: bool
    why: str
    why_note: Note | UnsetType = UNSET
    undo: str | UnsetType = UNSET


class Company(Document):
    """A metric that moved with the latency: a correlation that no experiment has tested."""

    name: str
    explained: float
    correlation: float
    p: float
    suggests: str


class Next(Document):
    """The result with the first cause removed, if something remained to explain."""

    now_us: float
    ruling: Literal["cause", "unknown factor", "inconclusive", "void"]
    leader: str | None
    also: list[str]
    why: str
    why_note: Note | UnsetType = UNSET
    suspects: list[Evidence]
    sham: Evidence | None
    correction: Correction | None


class Replica(Document):
    """The result on a replica, before any change to the application itself.

    ``processors``, ``host_processors``: the CPUs each uses, at ``rate_per_s`` requests/s there. ``base_us``:
    the replica's percentile without any suspect. ``removal``: the effect of removing the leader on the host.
    """

    name: str
    rate_per_s: float
    processors: float
    host_processors: float
    now_us: float
    base_us: float
    ruling: Literal["reproduced", "unknown factor", "inconclusive", "void", "shared"]
    leader: str | None
    also: list[str]
    why: str
    why_note: Note | UnsetType = UNSET
    suspects: list[Evidence]
    sham: Evidence | None
    not_tried: dict[str, str]
    not_tried_notes: dict[str, Note] | UnsetType = UNSET
    removal: str
    removal_note: Note | UnsetType = UNSET


class Diagnosis(Document):
    """The cause of the slowdown, as far as experiments show.

    ``also``: suspects that explain it as well as the leader.
    ``moved``: if no cause was found and a ring exists, the metrics in it that moved with the latency, by how
    much they explain; empty if the ring does not suffice yet, with the reason in ``moved_wait``. ``replica``:
    what was tried on a replica first. The share of a cause has its lower bound above ``explains_above``; a
    suspect is ruled out if its upper bound is below ``ruled_out_below``.
    """

    schema: Literal["hindmost.diagnosis/2"]
    created: str
    application: str
    percentile: float
    now_us: float
    normal_us: float | None
    explains_above: float
    ruled_out_below: float
    ruling: Literal["cause", "unknown factor", "inconclusive", "void"]
    leader: str | None
    also: list[str]
    why: str
    why_note: Note | UnsetType = UNSET
    pairs_needed: int | None
    suspects: list[Evidence]
    sham: Evidence | None
    not_tried: dict[str, str]
    not_tried_notes: dict[str, Note] | UnsetType = UNSET
    took_s: float
    correction: Correction | None
    next: Next | None
    moved: list[Company] | None
    moved_wait: str | None
    moved_wait_note: Note | UnsetType | None = UNSET
    replica: Replica | None


Search = Diagnosis | Next | Replica
"""A search for a cause, and its result."""


def read_diagnosis(path: Path) -> Diagnosis:
    """Read a document of ``hindmost diagnose --out``.

    Raises
    ------
    StudyError
        If the file cannot be read, or is not a diagnosis of this format.
    """
    try:
        return load(path, Diagnosis)
    except (OSError, ValueError) as error:
        raise StudyError(
            "unreadable-file" if isinstance(error, OSError) else "bad-file",
            f"{path} is not a {SCHEMA_NAME}: {error}",
            hint=f"hindmost diagnose ... --out {path}",
            path=str(path),
            known=[SCHEMA_NAME],
        ) from None
