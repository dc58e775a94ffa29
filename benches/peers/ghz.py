"""ghz beside us at one server of gRPC: ``python -m benches.peers.ghz [SECONDS] [ROUNDS]``.

Unary calls with a message of two bytes; sixteen connections, a call on each at a time. The server is that of
grpcio, in Python, and the limit by far: what is compared is the processor time that a call costs its client.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2

from benches.peers.beside import CONNECTIONS, contest, ours, told
from benches.peers.install import find
from benches.peers.peer import Source
from hindmost.targets import TargetSpec, load_target_file

SOURCE = Source("go", "github.com/bojand/ghz/cmd/ghz", "v0.93.0", "ghz")
EXAMPLE = Path(__file__).parents[2] / "examples/targets/grpc-python.toml"
SERVICE, METHOD = "shop.Orders", "Get"
MESSAGE = b"\x08\x07"
"""What ``{"id": 7}`` is by `descriptors`."""
_SEVEN = {"id": 7}


def server() -> TargetSpec:
    """The server that answers each call with its own message."""
    return load_target_file(EXAMPLE)


def descriptors() -> bytes:
    """What protoc would write of a message with one number, and a service that takes and returns it."""
    package, _, service = SERVICE.rpartition(".")
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package=package, syntax="proto3")
    file.message_type.add(name="Order").field.add(
        name="id", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL", json_name="id"
    )
    order = f".{package}.Order"
    file.service.add(name=service).method.add(name=METHOD, input_type=order, output_type=order)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def read(said: str) -> int:
    """Calls that were answered, of ghz's JSON.

    Raises
    ------
    SystemExit
        If it is none, or a call was answered by anything but OK.
    """
    try:
        codes = json.loads(said)["statusCodeDistribution"]
    except (ValueError, KeyError):
        raise SystemExit(f"ghz said nothing of its calls:\n{said}") from None
    if set(codes) != {"OK"}:
        raise SystemExit(f"ghz had answers of other kinds: {codes}")
    return int(codes["OK"])


def ghz(address: str, seconds: float, folder: Path) -> float:
    """Calls a second, on one processor."""
    had = find(SOURCE)
    if had.path is None:
        raise SystemExit(f"{had.remark}\nhint: python -m benches.peers.shown --install")
    protos = folder / "shop.binpb"
    protos.write_bytes(descriptors())
    many = f"{CONNECTIONS}"
    command = [had.path, "--insecure", "--protoset", str(protos), "--call", f"{SERVICE}.{METHOD}"]
    command += ["--data", json.dumps(_SEVEN), "--concurrency", many, "--connections", many, "--cpus", "1"]
    command += ["--duration", f"{seconds:g}s", "--duration-stop", "wait", "--format", "json", address]
    return read(told(command)) / seconds


CALL = {
    "path": f"/{SERVICE}/{METHOD}",
    "method": "POST",
    "body": {"hex": (b"\0" + len(MESSAGE).to_bytes(4) + MESSAGE).hex()},
}
WORKLOAD = {"kind": "http", "requests": [CALL]}
TARGET = {"protocol": "grpc"}

if __name__ == "__main__":
    sys.exit(contest(server(), "ghz", ghz, ours(TARGET, WORKLOAD)))
