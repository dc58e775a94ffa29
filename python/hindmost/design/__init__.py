"""Designs of experiments: which cells to run, in which order, at what cost. No files, no sockets."""

from hindmost.design.choose import choose
from hindmost.design.cost import Cost, cost
from hindmost.design.design import Design
from hindmost.design.factors import Cell, Combination, Factor, Term
from hindmost.design.fraction import fraction, regular
from hindmost.design.full import full
from hindmost.design.schedule import Trial, schedule

__all__ = [
    "Cell",
    "Combination",
    "Cost",
    "Design",
    "Factor",
    "Term",
    "Trial",
    "choose",
    "cost",
    "fraction",
    "full",
    "regular",
    "schedule",
]
