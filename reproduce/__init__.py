"""Reproduction of figures and tables of the six papers. Nothing in the product imports this package."""
