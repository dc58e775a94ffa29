"""A Kubernetes scheduler extender with exchangeable decisions; see `extender` and `serving`."""

from hindmost.core.kubernetes.cluster import Cluster
from hindmost.core.kubernetes.extender import Judge, Node, Pod, filter_nodes, prioritise_nodes, read_question
from hindmost.core.kubernetes.serving import Extender
from hindmost.core.kubernetes.watched_file import WatchedFile

__all__ = [
    "Cluster",
    "Extender",
    "Judge",
    "Node",
    "Pod",
    "WatchedFile",
    "filter_nodes",
    "prioritise_nodes",
    "read_question",
]
