"""The part of a Kubernetes API server that kube-scheduler and the extender use: list, watch, bind. Objects are in memory."""

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
    """The objects of a cluster, and their watchers."""

    def __init__(self) -> None:
        self.url = ""
        self._lock = threading.Lock()
        self._versions = itertools.count(1)
        self._objects: dict[str, dict[str, dict]] = {kind: {} for kind in KINDS}
        self._watchers: list[tuple[str, queue.Queue]] = []
        self.put("namespaces", {"metadata": {"name": "default"}})

    def add_node(self, name: str, cores: int, **annotations: str) -> None:
        size = {"cpu": str(cores), "memory": "32Gi", "pods": "110"}
        status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
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
        return any(condition.get("reason") == "Unschedulable" for condition in conditions)

    def put(self, kind: str, item: dict) -> dict:
        with self._lock:
            name = item["metadata"]["name"]
            exists = name in self._objects[kind]
            item = copy.deepcopy(item)
            item["metadata"]["resourceVersion"] = str(next(self._versions))
            item |= {"kind": KINDS[kind], "apiVersion": "v1"}
            self._objects[kind][name] = item
            event = {"type": "MODIFIED" if exists else "ADDED", "object": item}
            for watched_kind, events in self._watchers:
                if watched_kind == kind:
                    events.put(event)
            return item

    def bind(self, pod: str, node: str) -> None:
        item = copy.deepcopy(self._objects["pods"][pod])
        item["spec"]["nodeName"] = node
        item["status"]["phase"] = "Running"
        self.put("pods", item)

    def list(self, kind: str) -> tuple[list[dict], str]:
        with self._lock:
            return list(self._objects[kind].values()), str(next(self._versions))

    def watch(self, kind: str, since: int) -> tuple[list[dict], queue.Queue]:
        """Return the objects that are newer than a version, and a queue of later events."""
        events: queue.Queue = queue.Queue()
        with self._lock:
            self._watchers.append((kind, events))
            young = [
                {"type": "ADDED", "object": item}
                for item in self._objects[kind].values()
                if int(item["metadata"]["resourceVersion"]) > since
            ]
        return young, events


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: Api

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        kind, group = path.rsplit("/", 1)[1], path.split("/")[1:-1]
        version = "/".join(group[1:])
        parameters = dict(part.partition("=")[::2] for part in query.split("&"))
        if kind not in KINDS or parameters.get("sendInitialEvents") == "true":
            return self.reply(404 if kind not in KINDS else 422, {"kind": "Status", "status": "Failure"})
        if parameters.get("watch") in ("1", "true"):
            return self.stream(kind, version, int(parameters.get("resourceVersion") or 0))
        items, latest = self.api.list(kind)
        document = {
            "kind": f"{KINDS[kind]}List",
            "apiVersion": version,
            "metadata": {"resourceVersion": latest},
        }
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
        (pod,) = [pod for pod in self.api.list("pods")[0] if pod["metadata"]["name"] == name]
        pod = pod | {"status": pod["status"] | body.get("status", {})}
        self.reply(200, self.api.put("pods", pod))

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
