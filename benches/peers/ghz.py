"""ghz compared with Hindmost on one gRPC server: ``python -m benches.peers.ghz [SECONDS] [ROUNDS]``.

Unary calls with a message of two bytes; sixteen connections, one call on each at a time. The server is grpcio
in Python, and by far the bottleneck: the comparison is about the client's CPU time per call.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2

from benches.peers.install import find
from benches.peers.native_tool import CONNECTIONS, contest, ours, read_output
from benches.peers.peer import Source
from hindmost.core.targets import TargetSpec, load_target_file

SOURCE = Source("go", "github.com/bojand/ghz/cmd/ghz", "v0.93.0", "ghz")
EXAMPLE = Path(__file__).parents[2] / "examples/targets/grpc-python.toml"
SERVICE, METHOD = "shop.Orders", "Get"
MESSAGE = b"\x08\x07"
"""The encoding of ``{"id": 7}`` by `descriptors`."""
_SEVEN = {"id": 7}


def server() -> TargetSpec:
    """Return the server that answers each call with its own message."""
    return load_target_file(EXAMPLE)


def descriptors() -> bytes:
    """Return protoc's descriptors of a message with one number, and of a service that accepts and returns
    it."""
    package, _, service = SERVICE.rpartition(".")
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package=package, syntax="proto3")
    file.message_type.add(name="Order").field.add(
        name="id", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL", json_name="id"
    )
    order = f".{package}.Order"
    file.service.add(name=service).method.add(name=METHOD, input_type=order, output_type=order)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def read(said: str) -> int:
    """Return the number of answered calls in ghz's JSON.

    Raises
    ------
    SystemExit
        If it is not JSON, or a call had a status other than OK.
    """
    try:
        codes = json.loads(said)["statusCodeDistribution"]
    except (ValueError, KeyError):
        raise SystemExit(f"no calls in ghz's output:\n{said}") from None
    if set(codes) != {"OK"}:
        raise SystemExit(f"ghz reports other statuses: {codes}")
    return int(codes["OK"])


def ghz(address: str, seconds: float, folder: Path) -> float:
    """Return calls/s on one CPU."""
    had = find(SOURCE)
    if had.path is None:
        raise SystemExit(f"{had.remark}\nhint: python -m benches.peers.claims --install")
    protos = folder / "shop.binpb"
    protos.write_bytes(descriptors())
    many = f"{CONNECTIONS}"
    command = [had.path, "--insecure", "--protoset", str(protos), "--call", f"{SERVICE}.{METHOD}"]
    command += ["--data", json.dumps(_SEVEN), "--concurrency", many, "--connections", many, "--cpus", "1"]
    command += ["--duration", f"{seconds:g}s", "--duration-stop", "wait", "--format", "json", address]
    return read(read_output(command)) / seconds


CALL = {
    "path": f"/{SERVICE}/{METHOD}",
    "method": "POST",
    "body": {"hex": (b"\0" + len(MESSAGE).to_bytes(4) + MESSAGE).hex()},
}
WORKLOAD = {"kind": "http", "requests": [CALL]}
TARGET = {"protocol": "grpc"}

if __name__ == "__main__":
    sys.exit(contest(server(), "ghz", ghz, ours(TARGET, WORKLOAD)))
