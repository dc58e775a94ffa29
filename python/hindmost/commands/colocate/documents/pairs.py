"""The documents of ``hindmost colocate pairs``, ``neighbours`` and ``stress``: their types."""

from typing import Literal

from hindmost.commands.colocate.documents.profiles import (
    AnsweredBy,
    Evidence,
    Method,
    Placement,
    Processor,
    Profile,
    Share,
    WindowRow,
)
from hindmost.core.store.types import Count, Document, Note

PAIRS_SCHEMA: Literal["hindmost.pairs/2"] = "hindmost.pairs/2"
NEIGHBOURS_SCHEMA: Literal["hindmost.neighbours/2"] = "hindmost.neighbours/2"
STRESS_SCHEMA: Literal["hindmost.stress/2"] = "hindmost.stress/2"


class PairLoss(Share):
    """The loss of one program next to another; ``noise``: it cannot be distinguished from zero."""

    noise: bool


class Skill(Document):
    """Accuracy of a predictor over random halves of the programs: trained on one half, tested on the other.

    ``error``: mean absolute error, as a share of a rate; ``low``, ``high``: middle 95 % over the halves.
    ``skill``: 1 minus the ratio of its error to the best trivial predictor's, on pairs whose loss exceeds
    three times the noise; null with fewer than four such pairs.
    """

    name: str
    trivial: bool
    error: float
    low: float
    high: float
    skill: float | None


class Pairs(Document):
    """Programs next to each other: the loss of each (rows of ``lost``) next to each; null for lost windows.

    ``noise``: half-width of a typical interval. ``split_half``: correlation of losses in odd and even rounds,
    over all pairs; ``split_half_told``: over the pairs with a loss distinguishable from zero; null with too
    few. ``above``: pairs that lose more than three times the noise.
    """

    schema: Literal["hindmost.pairs/2"]
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


class Answer(Document):
    """Whether ``job`` may run next to ``server``.

    ``allowed``: share of its rate that the server may lose; ``expected``: the share that it will probably
    lose, null if a profile is too noisy. ``by``: what decides: *supervised* windows, of which at most a share
    of ``violations`` breaks the promise; the *measured* pair; a *model* trained on pairs, with a margin for
    ``violations``; or the *bound* of the two profiles. ``worst``, ``stressor``: of the bound; ``measure``:
    whether the bound uses the rate or a percentile, whose growth counts as the loss of rate that explains it
    (Eq 3.6). ``least_rate``: lowest rate of violations that the known pairs can guarantee; null without them.
    """

    job: str
    server: str
    answer: Literal["yes", "no", "unknown"]
    by: AnsweredBy
    evidence: Evidence
    allowed: float
    expected: float | None
    worst: float
    measure: Literal["rate", "p50", "p99"]
    stressor: str | None
    within: float
    load: float
    violations: float | None
    least_rate: float | None
    notes: list[Note]


class Neighbours(Document):
    """Jobs as neighbours of a server, the best first."""

    schema: Literal["hindmost.neighbours/2"]
    server: str
    jobs: list[Answer]


class StressorWork(Document):
    """A stressor's work, the share of time in which it worked, and the core's clock (GHz).

    ``cpu_share``: share of the time in which it had a CPU. ``ghz``: lowest and highest. ``began_ns``: its
    first block, ``CLOCK_MONOTONIC``.
    """

    stressor: str
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


class Stress(Document):
    """Stressors that ran next to each other."""

    schema: Literal["hindmost.stress/2"]
    stressors: list[StressorWork]
