"""Hysteresis test: whether a restarted server settles in another state, which a run keeps to its end.

Run values differ for many reasons: a stall in some of them, bursts, few requests. The share of variance
between runs does not show which. If restarts have no effect and each run has one stall, it calls most studies
hysteresis. A state of a run is present in its first third *and* in its last. So the test takes the median of
the sections' quantiles in either third, and asks whether the two are correlated over runs (Spearman's
correlation against permutations of the last thirds: exact if a third between them suffices to forget). A
stall falls into only one of them.

An effect that lasts longer than a third of a run but fades is no state either. Then the outer thirds differ
more than neighbouring ones do. If that is significant (signed ranks over runs, 5 %), the test makes no claim.

Simulated, nominal false alarms 1 %, 20 sections per run that scatter by 10 %, 300 studies: share reported as
hysteresis

================================================  =======  =======  =======
effect of restarts                                10 runs  20 runs  30 runs
================================================  =======  =======  =======
none; one stall per run                           .000     .017     .003
none;    a spell of a quarter of each run         .000     .000     .000
none;    sections AR(.5)                          .010     .007     .003
none;    sections AR(.8)                          .007     .017     .010
none;    sections AR(.95): remembers a run        .137     .173     .117
none;    sections AR(.98)                         .280     .150     .037
30 % of runs +10 %                                .107     .367     .517
30 % of runs +20 %                                .257     .653     .833
runs +-5 %, and a stall in each                   .153     .380     .673
runs +-10 %, and a stall in each                  .607     .920     .917
================================================  =======  =======  =======

The share of variance reported "between" (more than half) in .75 to 1.0 of the AR scenarios without an effect
of restarts. Limit: runs of a given length cannot distinguish a state from an effect that lasts as long as the
run (AR(.95), AR(.98)). The second test detects it in 4 to 96 of 100 such studies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.core.notes import Note
from hindmost.errors import ArgumentError
from hindmost.stats.ranks import signed_rank_p
from hindmost.stats.tables import Floats, RunValues

FALSE_ALARM = 0.01
FADES = 0.05
LEAST_RUNS = 6
LEAST_SECTIONS = 3
_DRAWS, _AT_ONCE = 9_999, 1_111


@dataclass(frozen=True, slots=True)
class Hysteresis:
    """Result of the test whether each run settles in its own state.

    ``visible``: None if undecided; ``note`` has the reason. ``p``: p-value of the hypothesis that restarts
    have no effect. ``fades``: differences last for more than a third of a run, but fade. ``sd``: standard
    deviation of the states, as a share of the value; NaN without hysteresis.
    """

    visible: bool | None
    p: float
    fades: bool
    sd: float
    runs: int
    note: Note

    @property
    def text(self) -> str:
        """The note's sentence."""
        return self.note.text


def hysteresis(
    sections: Sequence[RunValues], *, restarted: bool = True, isolated: bool = True, seed: int = 1
) -> Hysteresis:
    """Test whether runs keep their initial level from their first to their last third.

    Parameters
    ----------
    sections
        For each run the quantile of each of its sections, in time order: positive, infinite if infinitely
        late. All runs have the same number of sections.
    restarted
        Whether the server was restarted for each run.
    isolated
        Whether there was no interference. A neighbour that stays for a whole run looks the same.
    seed
        Random seed of the permutations.

    Raises
    ------
    ValueError
        If runs differ in their number of sections, or a quantile is not positive.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> noise = random.lognormal(3.0, 0.1, (12, 20))
    >>> stalled = noise.copy()
    >>> stalled[np.arange(12), random.integers(0, 20, 12)] *= random.uniform(5, 50, 12)
    >>> hysteresis(stalled).visible
    False
    >>> state = random.choice([1.0, 1.3], 12)[:, None]
    >>> hysteresis(noise * state).visible
    True
    """
    table = np.asarray(sections, dtype=np.float64)
    if table.ndim != 2 or np.isnan(table).any() or (table.size and table.min() <= 0.0):
        raise ArgumentError(
            "bad-argument",
            f"expected positive quantiles, with equal numbers of sections, got shape {table.shape}",
            argument="sections",
        )
    runs, cuts = table.shape
    if runs < LEAST_RUNS or cuts < LEAST_SECTIONS:
        needed = f"the test needs {LEAST_RUNS} runs of {LEAST_SECTIONS} sections"
        few = Note(
            "hysteresis-few-runs",
            f"{runs} runs of {cuts} sections; {needed}",
            {"runs": runs, "sections": cuts, "need": LEAST_RUNS, "need_sections": LEAST_SECTIONS},
        )
        return Hysteresis(None, math.nan, False, math.nan, runs, few)
    third = cuts // 3
    parts = [table[:, :third], table[:, third : cuts - third], table[:, cuts - third :]]
    first, middle, last = (np.log(np.median(part, axis=1)) for part in parts)
    p = _together(first, last, np.random.default_rng(seed))
    values = {"runs": runs, "p": p}
    if p > FALSE_ALARM:
        text = f"no sign of hysteresis: first and last thirds of {runs} runs do not correlate"
        return Hysteresis(False, p, False, math.nan, runs, Note("hysteresis-not-seen", text, values))
    finite = np.isfinite(first) & np.isfinite(middle) & np.isfinite(last)
    a, b, c = (part[finite] for part in (first, middle, last))
    fades = _fades(a, b, c)
    if fades:
        text = "runs differ for more than a third of a run, but the difference fades: make longer runs"
        return Hysteresis(None, p, True, math.nan, runs, Note("hysteresis-fades", text, values))
    sd = math.sqrt(max(0.0, float(np.cov(a, c)[0, 1]))) if a.size > 1 else math.nan
    values["sd"] = sd
    kept = f"each run keeps its initial level ({runs} runs, p = {p:.2g}); levels differ by {sd:.1%}"
    if not restarted:
        text = f"{kept}; the host causes this, because the server was not restarted"
        return Hysteresis(None, p, False, sd, runs, Note("hysteresis-not-restarted", text, values))
    if not isolated:
        text = f"{kept}; interference that lasts for a whole run looks the same"
        return Hysteresis(None, p, False, sd, runs, Note("hysteresis-interference", text, values))
    text = f"hysteresis: {kept}; more runs narrow the interval, longer runs do not"
    return Hysteresis(True, p, False, sd, runs, Note("hysteresis-seen", text, values))


def _together(first: Floats, last: Floats, random: np.random.Generator) -> float:
    """Return one-sided p of the rank correlation, over permutations of the last thirds."""
    x, y = (_mid_ranks(part) for part in (first, last))
    x, y = x - x.mean(), y - y.mean()
    found = float(x @ y)
    same = np.broadcast_to(y, (_AT_ONCE, y.size))
    reached = sum(
        np.count_nonzero(random.permuted(same, axis=1) @ x >= found - 1e-9) for _ in range(_DRAWS // _AT_ONCE)
    )
    return float((1 + reached) / (_DRAWS + 1))


def _mid_ranks(x: Floats) -> Floats:
    ordered = np.sort(x)
    below, upto = np.searchsorted(ordered, x, side="left"), np.searchsorted(ordered, x, side="right")
    return np.asarray((below + upto) / 2.0, dtype=np.float64)


def _fades(a: Floats, b: Floats, c: Floats) -> bool:
    """Return whether outer thirds differ more than neighbouring ones do."""
    if a.size < LEAST_RUNS:
        return False
    return signed_rank_p((a - c) ** 2 - ((a - b) ** 2 + (b - c) ** 2) / 2.0) < FADES
