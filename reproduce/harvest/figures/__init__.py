"""Simulated figures of chapter IV: one file per idea, each with a row of the card and its curves."""
