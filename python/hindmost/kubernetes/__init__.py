"""A Kubernetes scheduler extender with exchangeable decisions; see `extender` and `serving`."""

from hindmost.kubernetes.cluster import Cluster
from hindmost.kubernetes.extender import Judge, Node, Pod, filtered, prioritised, read_question
from hindmost.kubernetes.serving import Extender
from hindmost.kubernetes.watched import Watched

__all__ = [
    "Cluster",
    "Extender",
    "Judge",
    "Node",
    "Pod",
    "Watched",
    "filtered",
    "prioritised",
    "read_question",
]
