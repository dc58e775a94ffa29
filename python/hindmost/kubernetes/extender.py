"""Documents of a scheduler extender: what kube-scheduler asks, and what it is answered.

The types are those of ``k8s.io/kube-scheduler/extender/v1``, which have no JSON tags: keys begin with
capitals (``Pod``, ``Nodes``, ``NodeNames``), and Go reads them in any case, as is done here. A scheduler that
keeps nodes itself (``nodeCacheCapable: true``) names them; otherwise it sends them whole, and gets them back
whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hindmost.errors import ArgumentError
from hindmost.notes import Note

MOST_SCORE = 10
"""``extender/v1.MaxExtenderPriority``; the scheduler multiplies it with the extender's weight."""
QUANTITY = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)(m|k|M|G|Ki|Mi|Gi)?")
UNITS = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}


class Unreadable(ArgumentError):
    """The body is not a request of kube-scheduler; ``key`` names the field that is wrong."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__("bad-question", message, key=key)


@dataclass(frozen=True)
class Node:
    """A node on which a pod might run; all but its name may be unknown."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    cores: float | None = None


@dataclass(frozen=True)
class Pod:
    """A pod that waits for a node; ``cores`` is the sum that its containers request."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    cores: float = 0.0

    def said(self, key: str) -> str | None:
        """What a label, or else an annotation, says."""
        return self.labels.get(key, self.annotations.get(key))


@dataclass(frozen=True)
class Question:
    """A pod, the nodes, and the nodes as they came where they came whole."""

    pod: Pod
    nodes: list[Node]
    whole: dict[str, Any] | None


class Judge(Protocol):
    """Who decides. A judge may be asked by several threads at once."""

    def refused(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, Note]:
        """Return the nodes, by name, on which the pod must not run, each with the reason."""

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Give each node 0 to `MOST_SCORE`, higher where the pod fits better."""


def read_question(document: object) -> Question:
    """Read ``ExtenderArgs``.

    Raises
    ------
    Unreadable
        It has no pod, or neither nodes nor their names; or one of them is none.
    """
    if not isinstance(document, dict):
        raise Unreadable("the body is not a JSON object")
    pod, nodes, names = (_any_case(document, key) for key in ("Pod", "Nodes", "NodeNames"))
    if not isinstance(pod, dict):
        raise Unreadable("there is no Pod", "Pod")
    if isinstance(names, list):
        if not all(isinstance(name, str) for name in names):
            raise Unreadable("a name in NodeNames is not a string", "NodeNames")
        return Question(_pod(pod), [Node(name) for name in names], None)
    items = _any_case(nodes, "items") if isinstance(nodes, dict) else None
    if not isinstance(items, list):
        raise Unreadable("there are neither NodeNames nor Nodes with items", "Nodes")
    return Question(_pod(pod), [_node(one) for one in items], nodes)


def filtered(judge: Judge, question: Question) -> dict[str, Any]:
    """Make ``ExtenderFilterResult``: the nodes that are left, in the form in which they came."""
    refused = judge.refused(question.pod, question.nodes)
    left = [node.name for node in question.nodes if node.name not in refused]
    failed = {name: note.text for name, note in refused.items()}
    found: dict[str, Any] = {"NodeNames": None, "Nodes": None, "FailedNodes": failed, "Error": ""}
    if question.whole is None:
        return found | {"NodeNames": left}
    items = [
        one
        for one, node in zip(_any_case(question.whole, "items"), question.nodes, strict=True)
        if node.name not in refused
    ]
    return found | {"Nodes": {**question.whole, "items": items}}


def prioritised(judge: Judge, question: Question) -> list[dict[str, Any]]:
    """Make ``HostPriorityList``: every node's score."""
    scores = judge.scores(question.pod, question.nodes)
    return [
        {"Host": node.name, "Score": max(0, min(MOST_SCORE, scores.get(node.name, 0)))}
        for node in question.nodes
    ]


def cores_of(quantity: object) -> float | None:
    """Read a quantity of processors ("500m", "2", 4); None where it is none."""
    found = QUANTITY.fullmatch(str(quantity))
    if not found:
        return None
    try:
        return float(found[1]) * UNITS.get(found[2] or "", 1.0)
    except ValueError:
        return None


def _any_case(document: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 (JSON)
    if key in document:
        return document[key]
    return next((value for name, value in document.items() if name.lower() == key.lower()), None)


def _meta(document: Mapping[str, Any]) -> tuple[str, dict[str, str], dict[str, str]]:
    meta = document.get("metadata") or {}
    name = meta.get("name") or meta.get("generateName")
    if not isinstance(name, str):
        raise Unreadable("a pod or a node has no name", "name")
    return name, meta.get("labels") or {}, meta.get("annotations") or {}


def _node(document: object) -> Node:
    if not isinstance(document, dict):
        raise Unreadable("a node is not an object", "Nodes")
    allocatable = (document.get("status") or {}).get("allocatable") or {}
    return Node(*_meta(document), cores_of(allocatable.get("cpu")))


def _pod(document: dict[str, Any]) -> Pod:
    containers = (document.get("spec") or {}).get("containers") or []
    wanted = [((one.get("resources") or {}).get("requests") or {}).get("cpu", 0) for one in containers]
    return Pod(*_meta(document), sum(cores_of(one) or 0.0 for one in wanted))
