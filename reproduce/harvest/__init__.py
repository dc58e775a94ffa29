"""Harvest: chapter IV of the dissertation, on synthetic data centers."""
