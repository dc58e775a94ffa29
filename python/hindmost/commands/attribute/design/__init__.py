"""Designs of experiments: which cells to run, in which order, at what cost. No files, no sockets."""

from hindmost.commands.attribute.design.choose import choose
from hindmost.commands.attribute.design.cost import Cost, cost
from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Cell, Combination, Factor, Term
from hindmost.commands.attribute.design.fraction import fraction, regular
from hindmost.commands.attribute.design.full import full
from hindmost.commands.attribute.design.offer import Offer, offer, runs_within
from hindmost.commands.attribute.design.precision import Precision, precision
from hindmost.commands.attribute.design.random_settings import random_settings
from hindmost.commands.attribute.design.schedule import ScheduledRun, schedule
from hindmost.commands.attribute.design.screening import screening
from hindmost.commands.attribute.design.sequential import Sequential, Stop
from hindmost.commands.attribute.design.subset import subset

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
