"""Prints the leaderboard of rules and the number of analysis machines: `make reproduce PAPER=tailsniping`."""

from __future__ import annotations

from reproduce.tailsniping.leaderboard import leaderboard, render_leaderboard
from reproduce.tailsniping.machines import analysis_machines, render_machines

TRIALS = 150
"""Simulated anomalies per table: a fraction of 0 is then below 2 %."""
DIAGNOSIS_S = 140.0
"""Duration of one of our diagnoses in seconds, without detection."""

if __name__ == "__main__":
    print(render_leaderboard(leaderboard(TRIALS)))
    print(render_machines(analysis_machines(DIAGNOSIS_S)))
