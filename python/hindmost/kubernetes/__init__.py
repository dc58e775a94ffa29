"""A Kubernetes scheduler extender with exchangeable decisions; see `extender` and `serving`."""

from hindmost.kubernetes.cluster import Cluster
from hindmost.kubernetes.extender import Judge, Node, Pod, filter_nodes, prioritise_nodes, read_question
from hindmost.kubernetes.serving import Extender
from hindmost.kubernetes.watched_file import WatchedFile

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
