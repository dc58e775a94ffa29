"""The placement of batch work and its data in a data center by history (Zhang et al., OSDI 2016).

=====================================  ==================================================================
from a folder of traces to classes     `read_traces`, `classify`
from classes to decisions              `select`, `place`, `learn_thresholds`
a synthetic data center                `published_center`, `simulate`
=====================================  ==================================================================

The algorithms are in ``crates/harvest``, which the plug-ins of ``hadoop/`` must agree with. This package is
the interface: traces in, documents out. It measures nothing.
"""

from hindmost.commands.harvest.classes import Settings, classify, load_classes
from hindmost.commands.harvest.decisions import learn_thresholds, place, select
from hindmost.commands.harvest.reading import Traces, read_traces
from hindmost.commands.harvest.simulation import published_center, simulate

__all__ = [
    "Settings",
    "Traces",
    "classify",
    "learn_thresholds",
    "load_classes",
    "place",
    "published_center",
    "read_traces",
    "select",
    "simulate",
]
