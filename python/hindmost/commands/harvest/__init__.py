"""The placement of batch work and its data in a data center by history (Zhang et al., OSDI 2016).

=====================================  ==================================================================
from a folder of traces to classes     `read_traces`, `classify`
from classes to decisions              `select`, `place`, `learn_thresholds`
a synthetic data center                `published_center`, `simulate`
=====================================  ==================================================================

The algorithms are in ``crates/harvest``, which the plug-ins of ``hadoop/`` must agree with. This package is
the interface: traces in, documents out. It measures nothing.
"""
