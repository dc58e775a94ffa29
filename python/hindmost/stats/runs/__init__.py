"""Values of runs: intervals, stopping, comparing, whether they drift or fall into states."""
