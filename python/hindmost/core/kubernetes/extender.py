"""The request and reply documents of a scheduler extender.

The types are those of ``k8s.io/kube-scheduler/extender/v1``. They have no JSON tags, so keys begin with
capitals (``Pod``, ``Nodes``, ``NodeNames``); Go accepts any case, and so does this module. A scheduler that
caches nodes (``nodeCacheCapable: true``) sends their names; otherwise it sends whole nodes and expects whole
nodes back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

import msgspec

from hindmost.core.notes import Note
from hindmost.errors import ArgumentError

MOST_SCORE = 10
"""``extender/v1.MaxExtenderPriority``; the scheduler multiplies it by the extender's weight."""
PREFIX = "hindmost/"
"""Prefix of the labels, annotations and resources that mark batch work."""
SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")
DECIMAL = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
}
UNITS = DECIMAL | {f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)}
QUANTITY = re.compile(rf"([0-9.]+(?:[eE][+-]?[0-9]+)?)({'|'.join(sorted(UNITS, key=len, reverse=True))})")


class Unreadable(ArgumentError):
    """The body is not a valid request of kube-scheduler; ``key`` names the wrong field."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__("bad-question", message, key=key)


@dataclass(frozen=True)
class Node:
    """A node on which a pod could run; all but its name may be unknown."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    cores: float | None = None


@dataclass(frozen=True)
class Pod:
    """A pod that waits for a node or runs on one.

    Attributes
    ----------
    cores : float
        Requested cores as the scheduler counts them: those of containers and sidecars, or of the largest init
        container, plus the overhead.
    uid : str
        UID assigned by the API server; empty if unknown.
    managed : bool
        Whether it requests a resource ``hindmost/...``.
    node : str
        Node to which it is bound; empty before that and after the pod has ended.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    cores: float = 0.0
    uid: str = ""
    managed: bool = False
    node: str = ""

    def metadata(self, key: str) -> str | None:
        """Return the value of a label, or else of an annotation."""
        return self.labels.get(key, self.annotations.get(key))

    @property
    def is_batch(self) -> bool:
        """Whether a label, an annotation or a requested resource marks it as batch work."""
        return self.managed or any(key.startswith(PREFIX) for key in (*self.labels, *self.annotations))


@dataclass(frozen=True)
class Question:
    """A pod, the candidate nodes, and the original node list if nodes were sent whole."""

    pod: Pod
    nodes: list[Node]
    whole: dict[str, Any] | None


class Judge(Protocol):
    """Makes the decisions. Its methods may be called by several threads at once."""

    def find_refusals(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, Note]:
        """Return the reasons for refused nodes, by name."""

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Return scores of 0 to `MOST_SCORE` by node; higher is better."""


class _Meta(TypedDict, total=False):
    name: str
    labels: dict[str, str] | None
    annotations: dict[str, str] | None


class _Status(TypedDict, total=False):
    allocatable: dict[str, str | int | float] | None


class _Node(TypedDict, total=False):
    metadata: _Meta
    status: _Status | None


_NODE = msgspec.json.Decoder(_Node)
"""Decodes the few fields of a node that are used."""


def decode_question(body: bytes) -> dict[str, Any]:
    """Decode ``ExtenderArgs`` but leave its nodes encoded: 5,000 have 60 MB and are sent back unchanged.

    Raises
    ------
    msgspec.DecodeError
        The body is not a JSON object.
    RecursionError
        The body is nested too deeply.
    """
    raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return {
        key: _decode_nodes(one) if key.lower() == "nodes" else msgspec.json.decode(one)
        for key, one in raw.items()
    }


def _decode_nodes(body: msgspec.Raw) -> dict[str, Any] | None:
    raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw] | None)
    return raw and {
        key: msgspec.json.decode(one, type=list[msgspec.Raw] | None if key.lower() == "items" else Any)
        for key, one in raw.items()
    }


def read_question(document: object) -> Question:
    """Read ``ExtenderArgs``.

    Raises
    ------
    Unreadable
        There is no pod, there are neither nodes nor names, or one of them is invalid.
    """
    if not isinstance(document, dict):
        raise Unreadable("the body is not a JSON object")
    pod, nodes, names = (_any_case(document, key) for key in ("Pod", "Nodes", "NodeNames"))
    if not isinstance(pod, dict):
        raise Unreadable("there is no Pod", "Pod")
    if isinstance(names, list):
        if not all(isinstance(name, str) for name in names):
            raise Unreadable("a name in NodeNames is not a string", "NodeNames")
        return Question(read_pod(pod), [Node(name) for name in names], None)
    items = _any_case(nodes, "items") if isinstance(nodes, dict) else None
    if not isinstance(items, list):
        raise Unreadable("there are neither NodeNames nor Nodes with items", "Nodes")
    return Question(read_pod(pod), [read_node(one) for one in items], nodes)


def filter_nodes(judge: Judge, question: Question) -> dict[str, Any]:
    """Make ``ExtenderFilterResult`` with the accepted nodes in the form in which they were sent."""
    refused = judge.find_refusals(question.pod, question.nodes)
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


def prioritise_nodes(judge: Judge, question: Question) -> list[dict[str, Any]]:
    """Make ``HostPriorityList`` with the score of every node."""
    scores = judge.scores(question.pod, question.nodes)
    return [
        {"Host": node.name, "Score": max(0, min(MOST_SCORE, scores.get(node.name, 0)))}
        for node in question.nodes
    ]


def cores_of(quantity: object) -> float | None:
    """Read a quantity of processors ("500m", "2", 4). Return None if it is invalid."""
    found = QUANTITY.fullmatch(str(quantity))
    if not found:
        return None
    try:
        return float(found[1]) * UNITS[found[2]]
    except ValueError:
        return None


def share_of(text: str) -> float | None:
    """Read a share such as "0.5" or "50%". Return None if the text is not a share."""
    found = SHARE.fullmatch(text)
    return None if found is None else float(found[1]) / (100.0 if found[2] else 1.0)


def bad_share(node: Node, key: str, text: str) -> Note:
    """Return the reason for refusing a node whose label or annotation is not a share."""
    return Note(
        "bad-share",
        f"hindmost: {key} of {node.name} is {text}; it must be a share like 0.5 or 50%",
        {"node": node.name, "key": key, "value": text},
    )


def _any_case(document: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 (JSON)
    if key in document:
        return document[key]
    return next((value for name, value in document.items() if name.lower() == key.lower()), None)


def _meta(document: Mapping[str, Any]) -> tuple[str, dict[str, str], dict[str, str]]:
    meta = document.get("metadata") or {}
    name = meta.get("name") or meta.get("generateName")
    if not isinstance(name, str):
        raise Unreadable("a pod or a node has no name", "name")
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    if not all(isinstance(one, str) for pairs in (labels, annotations) for one in (*pairs, *pairs.values())):
        raise Unreadable(f"a label or an annotation of {name} is not a string", "labels")
    return name, labels, annotations


def read_node(document: object) -> Node:
    """Read a node.

    Raises
    ------
    Unreadable
        The document is not a node, or the node has no name.
    """
    if isinstance(document, msgspec.Raw):
        document = _NODE.decode(document)
    if not isinstance(document, dict):
        raise Unreadable("a node is not an object", "Nodes")
    allocatable = (document.get("status") or {}).get("allocatable") or {}
    return Node(*_meta(document), cores_of(allocatable.get("cpu")))


def read_pod(document: dict[str, Any]) -> Pod:
    """Read a pod.

    Raises
    ------
    Unreadable
        The pod has no name.
    """
    spec, meta = document.get("spec") or {}, document.get("metadata") or {}
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    asked = [(one.get("resources") or {}).get("requests") or {} for one in containers]
    ended = (document.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    return Pod(
        *_meta(document),
        cores=_sum_requests(spec),
        uid=str(meta.get("uid") or f"{meta.get('namespace', '')}/{meta.get('name', '')}"),
        managed=any(key.startswith(PREFIX) for requests in asked for key in requests),
        node="" if ended else str(spec.get("nodeName") or ""),
    )


def _sum_requests(spec: Mapping[str, Any]) -> float:
    """Sum up what a pod requests, as ``k8s.io/component-helpers/resource`` does.

    Init containers run one after the other before the main containers, together with the sidecars
    (``restartPolicy: Always``) that started before them.
    """
    sidecars = most = 0.0
    for one in spec.get("initContainers") or []:
        if one.get("restartPolicy") == "Always":
            sidecars += _cpu(one)
            most = max(most, sidecars)
        else:
            most = max(most, sidecars + _cpu(one))
    whole = max(most, sidecars + sum(_cpu(one) for one in spec.get("containers") or []))
    of_pod = ((spec.get("resources") or {}).get("requests") or {}).get("cpu")
    overhead = cores_of((spec.get("overhead") or {}).get("cpu", 0)) or 0.0
    return (whole if of_pod is None else cores_of(of_pod) or 0.0) + overhead


def _cpu(container: Mapping[str, Any]) -> float:
    return cores_of(((container.get("resources") or {}).get("requests") or {}).get("cpu", 0)) or 0.0
