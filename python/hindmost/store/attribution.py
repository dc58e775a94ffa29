"""What ``hindmost attribute`` writes as ``attribution.json``: its types, the source of its JSON Schema.

Rules that hold everywhere in the document:

- Times named ``*_us`` are microseconds, ``*_s`` seconds, shares fractions of 1; ``"inf"`` is infinitely late,
  null not known.
- A *cell* is one level of each factor, as a mapping from factor to level in the words of the study file.
- Quantiles are labelled by their percentile (``p99``); ``mean`` stands next to them.
- ``p`` is of one hypothesis by itself, ``adjusted`` the same for all terms, quantiles and loads together.

History of the format: ``hindmost.attribution/1`` (0.1.0) first version; before its release effects got
``base``, verdicts follow adjusted p-values, ``recommendation``, ``unconfirmed``, ``summary`` came, and
confirmations are by ranks.
"""

from typing import Any, Literal, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.types import Count, Label, Microseconds, Note, Number, Reason, Share

Words = Literal["raises", "lowers", "negligible", "undecided"]
Levels = dict[str, str]
"""Factor to level: one cell."""


class Factor(TypedDict):
    """One factor: what it sets, and its levels, the first of which is *low*.

    ``kind`` and ``sets`` say how: ``host`` and ``thp``, ``option`` and ``threads``.
    """

    name: str
    kind: str
    sets: str
    about: str
    levels: list[str]


class Design(TypedDict):
    """Which cells were run, in which order, and what the model can tell.

    ``cells``: of the design; ``possible``: of the full factorial. ``aliases``: term to the terms that it
    cannot be told from. ``control``: the cell that each block runs once more, to see drift.
    """

    kind: Literal["full", "fraction", "screening", "subset"]
    resolution: int | None
    cells: Count
    possible: Count
    blocks: Count
    runs: Count
    terms: list[str]
    aliases: dict[str, list[str]]
    forbidden: list[Levels]
    control: Levels
    seed: Count


class Effect(TypedDict):
    """One term of the model.

    ``factors`` interact; ``levels`` are those compared with each factor's first (of factors with two
    levels: the second). ``base``: what ``value`` is added to, in microseconds: the figure at the first
    level, the others at theirs or averaged over; of an interaction what its parts make, so that ``value``
    is what goes beyond them. ``share``: the same as a share of ``base``. ``error``: in the unit of the fit,
    of logarithms on the scale of ratios. ``permuted``: p by exchanging runs within blocks, which needs no
    law of the runs; of average effects. ``verdict`` follows ``adjusted``: raises and lowers are shown
    among all terms. ``more_runs``: about so many more runs of each cell would decide it, null if it is
    decided. ``negligible`` is what lies within ``delta`` of nothing with all of its interval.
    """

    term: str
    factors: list[str]
    levels: list[str]
    base: float | None
    value: float
    low: float
    high: float
    share: float
    share_low: float
    share_high: float
    error: float
    p: float
    adjusted: float
    permuted: float | None
    verdict: Words
    more_runs: Count | None


class PooledEffect(TypedDict):
    """The paper's estimand: the quantile of all requests of a cell together.

    ``low`` and ``high`` from errors that know of runs (clusters); ``naive_*`` from errors that take every
    request for independent, for the *why not* panel alone.
    """

    term: str
    value: float
    low: float
    high: float
    naive_low: float
    naive_high: float


class Pooled(TypedDict):
    """Estimand A: effects, and how much runs differ.

    ``design_effect``: variance over what independent requests would have, at the median cell.
    ``pseudo_r2``: Koenker and Machado's R1 of the whole model, on requests.
    """

    effects: list[PooledEffect]
    design_effect: float
    pseudo_r2: float


class Prediction(TypedDict):
    """What the model says of one cell (Treadmill, Figure 7); ``run``: whether it was ever run."""

    levels: Levels
    run: bool
    value: float
    low: float
    high: float


class Reversal(TypedDict):
    """A factor whose ``level`` raises at one level of another factor, and lowers at the other."""

    factor: str
    level: str
    by: str
    at: list[str]
    effects_us: list[Value]
    text: str


class Explained(TypedDict):
    """Shares of the variance of what runs report: between cells, between runs of a cell, within runs.

    ``sampling``: within runs; null where it is not known: it is then part of ``runs``.
    ``model``: R^2 of the model on runs; ``pseudo_r2``: R1 on runs (the paper's reading); ``ceiling``: what a
    perfect model of the cells would reach.
    """

    cells: Share
    runs: Share
    sampling: Share | None
    model: Share
    pseudo_r2: float
    ceiling: Share


class Candidate(TypedDict):
    """One cell next to the best of the others (Hsu's multiple comparisons with the best).

    ``behind_us``: its value less the best other's, with simultaneous bounds; ``tied``: it cannot be told from
    the best.
    """

    levels: Levels
    value: float
    behind_us: Value
    tied: bool


class QuantileAnswer(TypedDict):
    """All that is said of one quantile at one load.

    ``corner``: effects while all other factors are low (0/1 coding, Table IV); ``average``: over all levels
    of the others (Figure 8). ``best``: all cells, the best first.
    """

    corner: list[Effect]
    average: list[Effect]
    pooled: Pooled | None
    predicted: list[Prediction]
    reversals: list[Reversal]
    explained: Explained | None
    best: list[Candidate]


class Cell(TypedDict):
    """One cell at one load: its runs, what they report, or why there is nothing.

    ``values``: by quantile one figure a run, in the order of blocks (``"inf"``: infinitely late); of the
    control's cell the last ``extra`` are those of the control, a run more in each block. ``latency_us``:
    what the model is made of: on the scale of ratios the geometric mean over runs; ``measured_us``: the
    same of what was measured, with what others took. ``invalid``: of its runs, those that the instrument
    distorted, which are excluded. ``failure``: why there is no figure.
    """

    levels: Levels
    runs: Count
    extra: Count
    invalid: Count
    blocks: list[Count]
    values: dict[str, list[Microseconds]]
    latency_us: dict[str, Value]
    measured_us: dict[str, Value]
    failure: Note | None


class Drift(TypedDict):
    """The control over the blocks: its change a block as a share of its mean; Mann and Kendall's p."""

    quantile: Label
    values: list[Microseconds]
    share_per_block: float
    drifting: bool
    p: float


class Theft(TypedDict):
    """What others took of the processors of server and client: ``runs`` of ``of`` had a theft.

    Figures are calm latency then: what the server does on processors of its own. ``refused``: why not, if
    thefts cannot be told from what the server did itself; figures are then what was measured.
    ``counted_share``: of the requests.
    """

    runs: Count
    of: Count
    taken_share: Share
    counted_share: Share
    refused: Note | None


class Load(TypedDict):
    """The answer at one load. ``busy_share``: of the server's processors, over all runs, if known."""

    name: str
    rate_per_s: float | None
    busy_share: float | None
    cells: list[Cell]
    quantiles: dict[str, QuantileAnswer]
    theft: Theft | None
    drift: Drift | None


class Side(TypedDict):
    """One side of a confirmation: its setting and what fresh runs of it report, by quantile."""

    levels: Levels
    runs: Count
    latency_us: dict[str, Value]
    values: dict[str, list[Microseconds]]
    between_runs_sd_us: dict[str, float]


class Ratio(TypedDict):
    """After over before, with its interval."""

    value: float
    low: Number
    high: Number


class Confirmation(TypedDict):
    """Fresh interleaved runs of the setting before and the one found (Treadmill, Figure 12).

    ``ratio``: what a typical pair shows, by signed ranks of logarithms; its ends null with fewer than 6
    pairs. ``spread_ratio``: of how widely runs scatter (rank sums of differences of neighbouring runs).
    ``predicted``: the ratio that the model promised. ``outcome``: of the quantile that was asked for.
    ``least_pairs``: that an answer needs at least; null where there are as many.
    """

    load: str
    quantile: Label
    before: Side
    after: Side
    ratio: dict[str, Ratio]
    spread_ratio: dict[str, Ratio]
    predicted: dict[str, Ratio]
    outcome: Literal["confirmed", "refuted", "undecided"]
    least_pairs: Count | None
    text: str


class Unconfirmed(TypedDict):
    """A load at which the recommended setting has no confirmation, and why."""

    load: str
    why: Note


class Price(TypedDict):
    """What the recommended setting costs elsewhere: a percentile at a load that it makes longer.

    ``shown``: beyond doubt. ``more_than_gained``: its ratio is further from 1 than that of what is gained.
    """

    load: str
    quantile: Label
    before_us: float
    after_us: float
    ratio: Ratio
    shown: bool
    more_than_gained: bool


Recommended = Literal["better", "present", "tied", "open"]


class Recommendation(TypedDict):
    """Which setting to use, if one is lower than the present one beyond doubt.

    ``outcome``: ``better``: ``levels`` is; ``present``: all others are shown to be higher; ``tied``: none
    is shown to be lower; ``open``: too few runs to say. ``gain``: over the present setting, with bounds
    that hold for all settings together. ``candidate``: of ``tied``, the setting that looks lower, if one does
    by what matters; ``more_blocks``: about so many would tell. ``rule``: how the setting is picked.
    """

    quantile: Label
    loads: list[str]
    outcome: Recommended
    levels: Levels | None
    candidate: Levels | None
    gain: Ratio | None
    prices: list[Price]
    more_blocks: Count | None
    rule: str
    text: str


class Evidence(TypedDict):
    """All but the words.

    ``plan``: the study file as it was resolved. ``delta``: the smallest share that matters; null where it
    is a time, ``delta_us``. ``scale``: effects multiply, or add up. ``adjustment``: of p-values, for all
    terms, quantiles and loads together.
    """

    schema: Literal["hindmost.attribution/1"]
    version: str
    created: str
    study: str
    name: str
    target: str
    confidence: Share
    delta: Share | None
    delta_us: float | None
    scale: Literal["ratio", "us"]
    adjustment: Literal["romano-wolf", "holm", "false-discovery"]
    quantiles: list[Label]
    factors: list[Factor]
    design: Design
    loads: list[Load]
    recommendation: Recommendation
    confirmations: list[Confirmation]
    unconfirmed: list[Unconfirmed]
    applied: Levels | None
    seconds_total: float
    host: dict[str, Any]
    plan: dict[str, Any]


class Answer(TypedDict):
    """The answer in words.

    ``summary``: three sentences that need no table, the first of which is ``headline``. ``findings``: the
    most important first.
    """

    verdict: Literal["answered", "open", "invalid"]
    headline: str
    summary: list[str]
    findings: list[str]
    reasons: list[Reason]


class Attribution(Evidence, Answer):
    """Which factors make the tail what it is, and what to set."""
