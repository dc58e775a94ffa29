"""The documents of ``hindmost colocate pairs``, ``neighbours`` and ``stress``: their types.

History: ``hindmost.pairs/1``, ``hindmost.neighbours/1``, ``hindmost.stress/1`` (0.1.0), the first.
"""

from typing import Literal, TypedDict

from hindmost.store.colocation import Method, Placement, Processor, Profile, Share, WindowRow
from hindmost.store.types import Count, Note

PAIRS_SCHEMA: Literal["hindmost.pairs/1"] = "hindmost.pairs/1"
NEIGHBOURS_SCHEMA: Literal["hindmost.neighbours/1"] = "hindmost.neighbours/1"
STRESS_SCHEMA: Literal["hindmost.stress/1"] = "hindmost.stress/1"


class PairLoss(Share):
    """What one program loses next to another; ``noise``: it is not told from nothing."""

    noise: bool


class Skill(TypedDict):
    """A predictor over random halves of the programs: learned on one, asked about the other.

    ``error``: mean absolute, share of a rate; ``low``, ``high``: middle 95 % of the halves. ``skill``: 1 less
    the ratio of its error to the best trivial one's, on pairs whose loss is above three times the noise; null
    with fewer than four of those.
    """

    name: str
    trivial: bool
    error: float
    low: float
    high: float
    skill: float | None


class Pairs(TypedDict):
    """Programs next to each other: what each (rows of ``lost``) loses next to each; null of lost windows.

    ``noise``: half the width of a typical interval. ``split_half``: correlation of losses in odd rounds with
    those in even ones, over all pairs, ``split_half_told``: over those that are told from nothing; null with
    too few. ``above``: pairs that lose more than three times the noise.
    """

    schema: Literal["hindmost.pairs/1"]
    processor: Processor
    placement: Placement
    programs: list[str]
    cards: list[Profile]
    lost: list[list[PairLoss | None]]
    noise: float
    above: Count
    split_half: float | None
    split_half_told: float | None
    splits: Count
    scores: list[Skill]
    method: Method
    notes: list[Note]
    rows: list[WindowRow]


class Answer(TypedDict):
    """May ``job`` run beside ``server``.

    ``allowed``: share of its rate that the server may lose; ``expected``: the share that it probably loses,
    null where a profile is too noisy. ``by`` says what decides: the pair as it was *measured*, a *model* that
    learned from pairs, with a margin for ``violations``, or the *bound* that two profiles give. ``worst``,
    ``ruler``: of the bound; ``measure``: whether it comes from the rate or from a percentile, whose growth
    counts as the loss of rate that explains it (Eq 3.6). ``least_rate``: of violations that the known pairs
    could promise; null without them.
    """

    job: str
    server: str
    answer: Literal["yes", "no", "unknown"]
    by: Literal["measured", "model", "bound"]
    allowed: float
    expected: float | None
    worst: float
    measure: Literal["rate", "p50", "p99"]
    ruler: str | None
    within: float
    load: float
    violations: float | None
    least_rate: float | None
    notes: list[Note]


class Neighbours(TypedDict):
    """Jobs as neighbours of a server, the best first."""

    schema: Literal["hindmost.neighbours/1"]
    server: str
    jobs: list[Answer]


class Stressed(TypedDict):
    """A stressor's work, the share of time in which it worked, and the core's clock (GHz).

    ``cpu_share``: of the time, that it had a processor for. ``ghz``: least and most. ``began_ns``: its first
    block, ``CLOCK_MONOTONIC``.
    """

    ruler: str
    cpu: int
    unit: str
    done: Count
    per_s: float
    duty: float
    cpu_share: float
    involuntary: Count
    ghz: list[float]
    real_time: bool
    began_ns: int
    took_s: float


class Stress(TypedDict):
    """Stressors that worked next to each other."""

    schema: Literal["hindmost.stress/1"]
    rulers: list[Stressed]
