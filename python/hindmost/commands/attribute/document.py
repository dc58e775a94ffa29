"""The document ``attribution.json`` of ``hindmost attribute``: its types, the source of its JSON Schema.

Rules for the whole document:

- Times named ``*_us`` are microseconds, ``*_s`` seconds, shares fractions of 1; ``"inf"`` is infinitely late,
  null unknown.
- A *cell* is one level of each factor: a mapping from factor to level, named as in the study file.
- Quantiles are labelled by their percentile (``p99``); ``mean`` is listed with them.
- ``p`` is for one hypothesis alone, ``adjusted`` accounts for all terms, quantiles and loads together.
"""

from typing import Any, Literal

from msgspec import field

from hindmost.core.store.estimates import Value
from hindmost.core.store.types import Count, Document, Label, Microseconds, Note, Number, Reason, Share

Words = Literal["raises", "lowers", "negligible", "undecided"]
Levels = dict[str, str]
"""Factor to level: one cell."""


class Factor(Document):
    """One factor: what it sets, and its levels. The first level is *low*.

    ``kind`` and ``sets`` identify the setting, for example ``host`` and ``thp``, or ``option`` and
    ``threads``. ``change_s``: time that a change takes, if the factor is hard to change, else null.
    """

    name: str
    kind: str
    sets: str
    about: str
    levels: list[str]
    change_s: float | None = None


class Design(Document):
    """Which cells were run, in which order, and which effects the model can separate.

    ``cells``: cells of the design; ``possible``: cells of the full factorial. ``aliases``: each term with the
    terms it is confounded with. ``control``: the cell that each block runs once more, to detect drift.
    ``whole_plots``: how often a block sets the factors that are hard to change; null if none is.
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
    whole_plots: Count | None = None


class Effect(Document):
    """One term of the model.

    ``factors`` interact; ``levels`` are the levels compared with each factor's first (for factors with two
    levels: the second). ``base``: the figure that ``value`` is added to, in microseconds: the factor at its
    first level, the others at theirs or averaged. For an interaction it is the sum of its parts, so that
    ``value`` is the excess. ``share``: ``value`` as a share of ``base``. ``error``: in the unit of the fit,
    for the ratio scale in logarithms. ``permuted``: p from exchanging runs within blocks, without assuming a
    distribution; for average effects only. ``verdict`` follows ``adjusted``: raises and lowers are
    significant among all terms. ``more_runs``: approximate additional runs of each cell that would decide it,
    null if it is decided. ``negligible``: the whole interval lies within ``delta`` of no effect.
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


class TermTest(Document):
    """Whether a term of several coefficients has any effect: a factor of more than two levels, or with one.

    ``statistic``: F with ``numerator`` and ``denominator`` degrees of freedom, over blocks. ``adjusted``: p
    adjusted over all such terms, quantiles and loads.
    """

    term: str
    factors: list[str]
    statistic: float
    numerator: Count
    denominator: float
    p: float
    adjusted: float


class PooledEffect(Document):
    """The paper's estimand: the quantile of all requests of a cell together.

    ``low`` and ``high`` use errors clustered by run. ``naive_*`` treat all requests as independent; only the
    *why not* panel shows them.
    """

    term: str
    value: float
    low: float
    high: float
    naive_low: float
    naive_high: float


class PooledEffects(Document):
    """Estimand A: its effects, and how much runs differ.

    ``design_effect``: variance relative to that of independent requests, for the median cell. ``pseudo_r2``:
    Koenker and Machado's R1 of the whole model, on requests.
    """

    effects: list[PooledEffect]
    design_effect: float
    pseudo_r2: float | None


class Prediction(Document):
    """The model's prediction for one cell (Treadmill, Figure 7); ``run``: whether the cell was run."""

    levels: Levels
    run: bool
    value: float
    low: float
    high: float


class Reversal(Document):
    """A factor whose ``level`` raises latency at one level of another factor and lowers it at the other."""

    factor: str
    level: str
    by: str
    at: list[str]
    effects_us: list[Value]
    text: str


class VarianceShares(Document):
    """Shares of the variance of the runs' figures: between cells, between runs of a cell, within runs.

    ``sampling``: within runs; null if unknown, and then part of ``runs``. ``model``: R^2 of the model on
    runs; ``pseudo_r2``: R1 on runs (the paper's definition); ``ceiling``: the value of a perfect model of the
    cells.
    """

    cells: Share
    runs: Share
    sampling: Share | None
    model: Share
    pseudo_r2: float | None
    ceiling: Share


class ModelFit(Document):
    """Whether the model predicts every cell that was run.

    ``spare``: cells minus coefficients; with 0 each cell has a coefficient, and nothing can be tested. ``p``:
    of the null that the model is right, by the cell that deviates most clearly (``worst``); null if it cannot
    be tested. ``deviation_share``: how far this cell lies from its prediction, as a share of it.
    """

    spare: Count
    p: float | None
    worst: Levels | None
    deviation_share: float | None


class Candidate(Document):
    """One cell next to the best of the others (Hsu's multiple comparisons with the best).

    ``behind_us``: its value minus the best other's, with simultaneous bounds; ``tied``: the difference from
    the best is not significant.
    """

    levels: Levels
    value: float
    behind_us: Value
    tied: bool


class QuantileAnswer(Document):
    """All results for one quantile at one load.

    ``corner``: effects while all other factors are low (0/1 coding, Table IV); ``average``: over all levels
    of the others (Figure 8). ``together``: terms of several coefficients. ``fit``: null without a model.
    ``best``: all cells, the best first.
    """

    corner: list[Effect]
    average: list[Effect]
    together: list[TermTest] = field(default_factory=list)
    pooled: PooledEffects | None
    predicted: list[Prediction]
    reversals: list[Reversal]
    explained: VarianceShares | None
    fit: ModelFit | None = None
    best: list[Candidate]


class Cell(Document):
    """One cell at one load: its runs and their figures, or why it has none.

    ``values``: by quantile, one figure per run, in the order of blocks (``"inf"``: infinitely late). For the
    control's cell, the last ``extra`` values are the control's: one more run per block. ``latency_us``: the
    input of the model; on the ratio scale, the geometric mean over runs. ``measured_us``: the same of the
    measured latency, interference included. ``invalid``: number of its runs excluded because the instrument
    distorted them. ``failure``: why there is no figure.
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


class Drift(Document):
    """The control over the blocks: its change per block as a share of its mean; Mann and Kendall's p."""

    quantile: Label
    values: list[Microseconds]
    share_per_block: float
    drifting: bool
    p: float


class HostInterference(Document):
    """Interference on the CPUs of server and client: ``runs`` of ``of`` had an interruption.

    Figures are isolated latency then: what the server does with its CPUs to itself. ``refused``: why they are
    not, if interruptions cannot be separated from the server's own work; figures are then the measured
    latency. ``counted_share``: share of requests that count.
    """

    runs: Count
    of: Count
    interference_share: Share
    counted_share: Share
    refused: Note | None


class Load(Document):
    """The results at one load. ``busy_share``: use of the server's CPUs over all runs, if known."""

    name: str
    rate_per_s: float | None
    busy_share: float | None
    cells: list[Cell]
    quantiles: dict[str, QuantileAnswer]
    interference: HostInterference | None
    drift: Drift | None


class Side(Document):
    """One side of a confirmation: its setting, and the figures of fresh runs of it, by quantile."""

    levels: Levels
    runs: Count
    latency_us: dict[str, Value]
    values: dict[str, list[Microseconds]]
    between_runs_sd_us: dict[str, float]


class Ratio(Document):
    """After over before, with its interval."""

    value: float
    low: Number
    high: Number


class Confirmation(Document):
    """Fresh interleaved runs of the setting before and the setting found (Treadmill, Figure 12).

    ``ratio``: of a typical pair, by signed ranks of logarithms; its ends are null with fewer than 6 pairs.
    ``spread_ratio``: ratio of the variability of runs (rank sums of differences between consecutive runs).
    ``predicted``: the ratio predicted by the model. ``outcome``: for the requested quantile. ``least_pairs``:
    pairs that a result needs at least; null if there are enough.
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


class UnconfirmedLoad(Document):
    """A load at which the recommended setting was not confirmed, and why."""

    load: str
    why: Note


class Price(Document):
    """A cost of the recommended setting elsewhere: a percentile at a load that it makes longer.

    ``shown``: significant. ``more_than_gained``: its ratio is further from 1 than the gain's.
    """

    load: str
    quantile: Label
    before_us: float
    after_us: float
    ratio: Ratio
    shown: bool
    more_than_gained: bool


Recommended = Literal["better", "present", "tied", "open"]


class Recommendation(Document):
    """Which setting to use, if one is significantly faster than the present one.

    ``outcome``: ``better``: ``levels`` is faster; ``present``: all others are shown to be slower; ``tied``:
    none is shown to be faster; ``open``: too few runs. ``gain``: over the present setting, with bounds that
    hold for all settings together. ``candidate``: if ``tied``, the setting that seems faster by an amount
    that matters, if any; ``more_blocks``: approximate additional blocks that would decide. ``rule``: how the
    setting is chosen.
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


class Attribution(Document):
    """Which factors determine the tail, and which setting to use.

    ``plan``: the resolved study file. ``delta``: the smallest share that matters; null if it is given as a
    time, ``delta_us``. ``scale``: effects multiply, or add up. ``adjustment``: method for p-values, over all
    terms, quantiles and loads together. ``summary``: three sentences that need no table; the first is
    ``headline``. ``findings``: the most important first.
    """

    schema: Literal["hindmost.attribution/2"]
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
    unconfirmed: list[UnconfirmedLoad]
    applied: Levels | None
    seconds_total: float
    host: dict[str, Any]
    plan: dict[str, Any]
    verdict: Literal["answered", "open", "invalid"]
    headline: str
    summary: list[str]
    findings: list[str]
    reasons: list[Reason]
