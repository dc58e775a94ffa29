"""Where in a data center batch work and its data may go, by history (Zhang et al., OSDI 2016).

=====================================  ==================================================================
from a folder of traces to classes     `read_traces`, `classify`
from classes to decisions              `select`, `place`, `learn_thresholds`
a synthetic data center                `published`, `simulate`
=====================================  ==================================================================

The algorithms are ``crates/harvest``, which the plug-ins of ``hadoop/`` are held to; here is what people
call, traces in and documents out. Nothing here measures anything.
"""

from hindmost.harvest.classes import Settings, classify, load_classes
from hindmost.harvest.decisions import learn_thresholds, place, select
from hindmost.harvest.reading import Traces, read_traces
from hindmost.harvest.simulation import published, simulate

__all__ = [
    "Settings",
    "Traces",
    "classify",
    "learn_thresholds",
    "load_classes",
    "place",
    "published",
    "read_traces",
    "select",
    "simulate",
]
