"""The document that ``hindmost diagnose --json`` prints: its types.

History: ``hindmost.diagnosis/1`` (0.1.0), the first.
"""

from typing import Literal, TypedDict

SCHEMA_NAME = "hindmost.diagnosis/1"


class Evidence(TypedDict):
    """One suspect: the percentile with it over without it, what share of the anomaly that is.

    ``p``: of the sign-flip test, for itself. ``about``: what was done to take it away. ``as ever``: load, of
    which there is no more than when all was well.
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
    state: Literal["explains", "part", "struck out", "open", "as ever"]


class Correction(TypedDict, total=False):
    """What was changed for good, or why not; ``refused``: what was tried before, in vain."""

    about: str
    before_us: float
    after_us: float
    kept: bool
    why: str
    undo: str
    refused: list[str]


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
    suspects: list[Evidence]
    sham: Evidence | None
    correction: Correction | None


class Diagnosis(TypedDict):
    """What made it slow, as far as experiments here tell; ``also``: who explains it as well as the leader.

    ``moved``: where no cause was found and there is a ring: what moved with the latency in it, by what it
    explains; empty where the ring cannot tell yet, for which ``moved_wait`` has the reason.
    """

    schema: str
    application: str
    percentile: float
    now_us: float
    normal_us: float | None
    ruling: Literal["cause", "unknown factor", "inconclusive", "void"]
    leader: str | None
    also: list[str]
    why: str
    pairs_needed: int | None
    suspects: list[Evidence]
    sham: Evidence | None
    not_tried: dict[str, str]
    took_s: float
    correction: Correction | None
    next: Next | None
    moved: list[Company] | None
    moved_wait: str | None
