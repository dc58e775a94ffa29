"""Designs of experiments: which cells to run, in which order, at what cost. No files, no sockets."""

from hindmost.design.choose import choose
from hindmost.design.cost import Cost, cost
from hindmost.design.design import Design
from hindmost.design.factors import Cell, Combination, Factor, Term
from hindmost.design.fraction import fraction, regular
from hindmost.design.full import full
from hindmost.design.offer import Offer, offer, runs_within
from hindmost.design.precision import Precision, precision
from hindmost.design.random_settings import random_settings
from hindmost.design.schedule import ScheduledRun, schedule
from hindmost.design.screening import screening
from hindmost.design.sequential import Sequential, Stop
from hindmost.design.subset import subset

__all__ = [
    "Cell",
    "Combination",
    "Cost",
    "Design",
    "Factor",
    "Offer",
    "Precision",
    "ScheduledRun",
    "Sequential",
    "Stop",
    "Term",
    "choose",
    "cost",
    "fraction",
    "full",
    "offer",
    "precision",
    "random_settings",
    "regular",
    "runs_within",
    "schedule",
    "screening",
    "subset",
]
