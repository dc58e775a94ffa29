"""Statistics of run values: intervals, stopping rules, comparisons, drift and separate states."""
