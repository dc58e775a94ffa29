"""Figures and tables of the six papers, made again. Nothing in the product imports this package."""
