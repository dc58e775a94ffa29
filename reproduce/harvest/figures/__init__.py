"""Figures of chapter IV, simulated: a file an idea, each gives a row of the card and its curves."""
