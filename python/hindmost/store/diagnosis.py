"""The document that ``hindmost diagnose --json`` prints: its types.

A sentence ``X`` has its code and values beside it in ``X_note``; documents of 0.1 do not have these.

History: ``hindmost.diagnosis/1`` (0.1.0), the first.
"""

from pathlib import Path
from typing import Final, Literal, NotRequired, TypedDict, cast

import msgspec

from hindmost.documents import read_json
from hindmost.errors import StudyError
from hindmost.store.types import Note

SCHEMA_NAME: Final = "hindmost.diagnosis/1"


class Pair(TypedDict):
    """The percentile with a suspect there and with it gone, one after the other, in a drawn order.

    ``at_s``: when the pair began, from the first pair of the diagnosis. ``without_first``: its order.
    """

    round: int
    at_s: float
    with_us: float
    without_us: float
    without_first: bool


class Stay(TypedDict):
    """A metric that does not come back with a suspect: which part of its shift stays."""

    name: str
    left: float | None


class Likeness(TypedDict):
    """Whether what moved at the anomaly moves with a suspect: ``residual``, of the shift's length, is left.

    ``fits``: None where it is not decided. ``why``: why nothing can be told; else empty.
    """

    residual: float | None
    low: float | None
    high: float | None
    fits: bool | None
    stays: list[Stay]
    why: str
    why_note: NotRequired[Note | None]


class Evidence(TypedDict):
    """One suspect: the percentile with it over without it, what share of the anomaly that is.

    ``p``: of the sign-flip test, for itself. ``about``: what was done to take it away, or on a twin to bring
    it there. ``as ever``: load, of which there is no more than when all was well; ``load``: of which that
    is not known. ``beyond``: without it is faster than when all was well, so it takes load away. ``other
    signature``: what moved with the latency stays. ``reach``: on a twin, the percentile with it over the sick
    host's. ``measured``: each pair that ``ratio`` is of.
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
        "struck out",
        "open",
        "as ever",
        "load",
        "beyond",
        "other signature",
        "reproduces",
        "too much",
    ]
    signature: Likeness | None
    reach: float | None
    measured: list[Pair]


class Correction(TypedDict, total=False):
    """What was changed for good, or why not; ``refused``: what was tried before, in vain.

    ``measured``: its pairs, where ``without`` is with the correction in force.
    """

    about: str
    before_us: float
    after_us: float
    kept: bool
    why: str
    why_note: Note
    undo: str
    refused: list[str]
    measured: list[Pair]


class Company(TypedDict):
    """A metric that moved with the latency: correlation, which no experiment has looked at."""

    name: str
    explained: float
    correlation: float
    p: float
    suggests: str


class Next(TypedDict):
    """What was found with the first cause taken away, where that left something to explain."""

    now_us: float
    ruling: Literal["cause", "unknown factor", "inconclusive", "void"]
    leader: str | None
    also: list[str]
    why: str
    why_note: NotRequired[Note]
    suspects: list[Evidence]
    sham: Evidence | None
    correction: Correction | None


class NotTried(TypedDict):
    """Why suspects were not tried, by their names."""

    not_tried: dict[str, str]
    not_tried_notes: NotRequired[dict[str, Note]]


class Twin(NotTried):
    """What was found on a second instance, before anything was done to the first.

    ``processors``, ``host_processors``: what each uses, at ``rate_per_s`` requests a second there.
    ``base_us``: the twin's percentile without any suspect. ``removal``: what became of the leader on the
    host.
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
    why_note: NotRequired[Note]
    suspects: list[Evidence]
    sham: Evidence | None
    removal: str
    removal_note: NotRequired[Note]


class Diagnosis(NotTried):
    """What made it slow, as far as experiments here tell; ``also``: who explains it as well as the leader.

    ``moved``: where no cause was found and there is a ring: what moved with the latency in it, by what it
    explains; empty where the ring cannot tell yet, for which ``moved_wait`` has the reason.
    ``twin``: what was tried on a second instance first.
    A cause's share has its lower bound over ``explains_above``; who is struck out has the upper one under
    ``struck_out_below``.
    """

    schema: Literal["hindmost.diagnosis/1"]
    created: str
    application: str
    percentile: float
    now_us: float
    normal_us: float | None
    explains_above: float
    struck_out_below: float
    ruling: Literal["cause", "unknown factor", "inconclusive", "void"]
    leader: str | None
    also: list[str]
    why: str
    why_note: NotRequired[Note]
    pairs_needed: int | None
    suspects: list[Evidence]
    sham: Evidence | None
    took_s: float
    correction: Correction | None
    next: Next | None
    moved: list[Company] | None
    moved_wait: str | None
    moved_wait_note: NotRequired[Note | None]
    twin: Twin | None


def read_diagnosis(path: Path) -> Diagnosis:
    """A document that ``hindmost diagnose --out`` kept.

    Raises
    ------
    StudyError
        The file cannot be read, or is not a diagnosis of this format.
    """
    try:
        document = read_json(path)
        msgspec.convert(document, Diagnosis)
    except (OSError, ValueError) as error:
        raise StudyError(
            "unreadable-file" if isinstance(error, OSError) else "bad-file",
            f"{path} is not a {SCHEMA_NAME}: {error}",
            hint=f"hindmost diagnose ... --out {path}",
            path=str(path),
            known=[SCHEMA_NAME],
        ) from None
    return cast("Diagnosis", document)
