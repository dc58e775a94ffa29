"""How often a simulated test may reject a true null."""

from scipy.stats import binom  # type: ignore[import-untyped, unused-ignore]


def allowed_rejections(tries: int, level: float = 0.05, alarm: float = 1e-4) -> range:
    """Return the counts that a test of this size stays within, except once in 1 / alarm seeds a side."""
    return range(int(binom.ppf(alarm, tries, level)), int(binom.isf(alarm, tries, level)) + 1)
