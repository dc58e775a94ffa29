"""What kube-scheduler and the extender need of an API server: list, watch, bind. Objects live in memory."""

from __future__ import annotations

import contextlib
import copy
import http.server
import itertools
import json
import queue
import threading
from collections.abc import Iterator

KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "services": "Service",
    "namespaces": "Namespace",
    "replicationcontrollers": "ReplicationController",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "storageclasses": "StorageClass",
    "csinodes": "CSINode",
    "csidrivers": "CSIDriver",
    "csistoragecapacities": "CSIStorageCapacity",
    "volumeattachments": "VolumeAttachment",
    "resourceclaims": "ResourceClaim",
    "resourceslices": "ResourceSlice",
    "deviceclasses": "DeviceClass",
}


class Api:
    """The objects of a cluster, and who watches them."""

    def __init__(self) -> None:
        self.url = ""
        self._lock = threading.Lock()
        self._versions = itertools.count(1)
        self._objects: dict[str, dict[str, dict]] = {kind: {} for kind in KINDS}
        self._watchers: list[tuple[str, queue.Queue]] = []
        self.put("namespaces", {"metadata": {"name": "default"}})

    def add_node(self, name: str, cores: int, **annotations: str) -> None:
        size = {"cpu": str(cores), "memory": "32Gi", "pods": "110"}
        status = {
            "capacity": size,
            "allocatable": size,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        labels = {"kubernetes.io/hostname": name}
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        self.put("nodes", {"metadata": metadata, "spec": {}, "status": status})

    def add_pod(self, name: str, cores: str, labels: dict[str, str] | None = None, **spec: object) -> None:
        container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cores}}}
        whole = {"schedulerName": "default-scheduler", "containers": [container], **spec}
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels or {}}
        self.put("pods", {"metadata": metadata, "spec": whole, "status": {"phase": "Pending"}})

    def node_of(self, pod: str) -> str | None:
        with self._lock:
            return self._objects["pods"][pod]["spec"].get("nodeName")

    def is_unschedulable(self, pod: str) -> bool:
        with self._lock:
            conditions = self._objects["pods"][pod]["status"].get("conditions") or []
        return any(one.get("reason") == "Unschedulable" for one in conditions)

    def put(self, kind: str, one: dict) -> dict:
        with self._lock:
            name = one["metadata"]["name"]
            known = name in self._objects[kind]
            one = copy.deepcopy(one)
            one["metadata"]["resourceVersion"] = str(next(self._versions))
            one |= {"kind": KINDS[kind], "apiVersion": "v1"}
            self._objects[kind][name] = one
            event = {"type": "MODIFIED" if known else "ADDED", "object": one}
            for watched, events in self._watchers:
                if watched == kind:
                    events.put(event)
            return one

    def bind(self, pod: str, node: str) -> None:
        one = copy.deepcopy(self._objects["pods"][pod])
        one["spec"]["nodeName"] = node
        one["status"]["phase"] = "Running"
        self.put("pods", one)

    def list(self, kind: str) -> tuple[list[dict], str]:
        with self._lock:
            return list(self._objects[kind].values()), str(next(self._versions))

    def watch(self, kind: str, since: int) -> tuple[list[dict], queue.Queue]:
        """Return the objects that are younger than a version, and a queue of later events."""
        events: queue.Queue = queue.Queue()
        with self._lock:
            self._watchers.append((kind, events))
            young = [
                {"type": "ADDED", "object": one}
                for one in self._objects[kind].values()
                if int(one["metadata"]["resourceVersion"]) > since
            ]
        return young, events


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: Api

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        kind, group = path.rsplit("/", 1)[1], path.split("/")[1:-1]
        version = "/".join(group[1:])
        asked = dict(part.partition("=")[::2] for part in query.split("&"))
        if kind not in KINDS or asked.get("sendInitialEvents") == "true":
            return self.reply(404 if kind not in KINDS else 422, {"kind": "Status", "status": "Failure"})
        if asked.get("watch") in ("1", "true"):
            return self.stream(kind, version, int(asked.get("resourceVersion") or 0))
        items, at = self.api.list(kind)
        document = {"kind": f"{KINDS[kind]}List", "apiVersion": version, "metadata": {"resourceVersion": at}}
        return self.reply(200, document | {"items": items})

    def stream(self, kind: str, version: str, since: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        young, events = self.api.watch(kind, since)
        for event in itertools.chain(young, iter(events.get, None)):
            event["object"]["apiVersion"] = version
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0].endswith("/binding"):
            self.api.bind(self.path.split("/")[-2], body["target"]["name"])
            body = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        self.reply(201, body)

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = self.path.partition("?")[0].split("/")
        name = parts[-2] if parts[-1] == "status" else parts[-1]
        (one,) = [one for one in self.api.list("pods")[0] if one["metadata"]["name"] == name]
        one = one | {"status": one["status"] | body.get("status", {})}
        self.reply(200, self.api.put("pods", one))

    def reply(self, status: int, document: dict) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serve_api() -> Iterator[Api]:
    """Serve an empty cluster on a free port."""
    api = Api()
    handler = type("Handler", (_Handler,), {"api": api})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
