"""The search for the highest rate under an objective: judging a step, the belief after it, the next rate."""
