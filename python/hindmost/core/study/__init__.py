"""Studies: which runs are made, in which order, until when, and what they show together."""
