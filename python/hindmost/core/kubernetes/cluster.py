"""Nodes and bound pods of the API server, kept up to date by list and watch.

A scheduler that caches nodes sends an extender only their names, and no scheduler sends the pods of a node.
``kubectl proxy`` authenticates; this module handles no credentials.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hindmost.core.kubernetes.extender import Node, Pod, Unreadable, read_node, read_pod

AGAIN_S = 1.0
"""Pause between a watch that ended or failed and the next list."""
SILENCE_S = 600.0
"""Timeout of a silent connection; API servers end a watch after five to ten minutes."""
KINDS: dict[str, Callable[[Any], Node | Pod]] = {"nodes": read_node, "pods": read_pod}


class Cluster:
    """A mirror of the API server at a URL, updated while its context is active.

    Attributes
    ----------
    failures : int
        Number of lists and watches that failed.
    """

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._at, self._base = place.netloc, place.path.rstrip("/")
        self._kept: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self._lock = threading.Lock()
        self._open: dict[str, socket.socket] = {}
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._follow, args=(kind,), daemon=True) for kind in KINDS]
        self.failures = 0

    def __enter__(self) -> Cluster:
        """Start following nodes and pods."""
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop following."""
        self._ended.set()
        for one in list(self._open.values()):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # closing would wait for the reading thread
        for thread in self._threads:
            thread.join(AGAIN_S)

    def node(self, name: str) -> Node | None:
        """Return a node; None if it does not exist or the API server has not answered yet."""
        with self._lock:
            return self._kept["nodes"].get(name)

    def bound(self) -> dict[str, Pod]:
        """Return the batch pods that are bound to a node and have not ended, by UID."""
        with self._lock:
            return dict(self._kept["pods"])

    def _follow(self, kind: str) -> None:
        while not self._ended.is_set():
            try:
                self._watch(kind, self._list(kind))
            except (
                OSError,
                HTTPException,
                msgspec.MsgspecError,
                Unreadable,
                AttributeError,
                KeyError,
                TypeError,
            ):
                self.failures += 1
            self._ended.wait(AGAIN_S)

    def _list(self, kind: str) -> str:
        with self._get(kind, "") as reply:
            found = msgspec.json.decode(reply.read())
        kept: dict[str, Any] = {}
        for document in found["items"]:
            _note(kept, KINDS[kind](document), gone=False)
        with self._lock:
            self._kept[kind] = kept
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, kind: str, version: str) -> None:
        with self._get(kind, f"?watch=1&resourceVersion={version}") as reply:
            for line in reply:
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":  # the version is too old: list again
                    return
                if event["type"] != "BOOKMARK":
                    one = KINDS[kind](event["object"])
                    with self._lock:
                        _note(self._kept[kind], one, gone=event["type"] == "DELETED")

    @contextmanager
    def _get(self, kind: str, query: str) -> Iterator[HTTPResponse]:
        with closing(HTTPConnection(self._at, timeout=SILENCE_S)) as connection:
            connection.connect()
            self._open[kind] = connection.sock
            connection.request("GET", f"{self._base}/api/v1/{kind}{query}")
            with connection.getresponse() as reply:
                if reply.status != 200:
                    raise HTTPException(f"{reply.status} {reply.reason}")
                yield reply


def _note(kept: dict[str, Any], one: Node | Pod, *, gone: bool) -> None:
    """Keep a node or a bound batch pod, and remove deleted ones."""
    key = one.uid if isinstance(one, Pod) else one.name
    if gone or (isinstance(one, Pod) and not (one.node and one.is_batch)):
        kept.pop(key, None)
    else:
        kept[key] = one
