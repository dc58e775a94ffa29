"""Unary gRPC calls to a real server: messages arrive as encoded by the proto, and statuses are distinguished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from measuring import ProcessTracker, assert_counts_add_up, measure, run_server

from hindmost.core.targets import load_target_file

pytest.importorskip("grpc")

FEW = (
    "--clients",
    "1",
    "--connections",
    "2",
    "--rate",
    "200",
    "--timeout",
    "1s",
    "--runs",
    "1",
    "--duration",
    "0.4s",
)
SERVER = """
import sys
from concurrent import futures
import grpc

seen = set()

def get(request, context):
    if request not in seen:
        seen.add(request)
        with open(sys.argv[2], "a") as notes:
            print(request.hex(), dict(context.invocation_metadata()).get("x-tenant", ""), file=notes)
    return b"\\x0a\\x02ok"

def fails(status):
    return lambda request, context: context.abort(status, "so it is")

def unary(handler):
    return grpc.unary_unary_rpc_method_handler(handler)

server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shop.Orders", {
    "Get": unary(get),
    "Miss": unary(fails(grpc.StatusCode.NOT_FOUND)),
    "Deny": unary(fails(grpc.StatusCode.PERMISSION_DENIED)),
})])
assert server.add_insecure_port(sys.argv[1])
server.start()
server.wait_for_termination()
"""
TARGET = """
name = "orders"
protocol = "grpc"
command = ["{python}", "-P", "{dir}/server.py", "{address}", "NOTES"]
path = "/shop.Orders/Get"
[files]
"server.py" = '''SERVER'''
"""


def target(folder: Path) -> Path:
    text = TARGET.replace("NOTES", str(folder / "notes"))
    (folder / "orders.toml").write_text(text.replace("SERVER", SERVER))
    return folder / "orders.toml"


def descriptors(folder: Path) -> Path:
    """Write the descriptor set of a small proto, as protoc would."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL", json_name="id")
    order.field.add(name="what", number=2, type="TYPE_STRING", label="LABEL_REPEATED", json_name="what")
    orders = file.service.add(name="Orders")
    for name in ("Get", "Miss", "Deny", "Watch"):
        orders.method.add(
            name=name, input_type=".shop.Order", output_type=".shop.Order", server_streaming=name == "Watch"
        )
    (folder / "shop.binpb").write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    return folder / "shop.binpb"


def test_messages_arrive_as_the_proto_defines_and_statuses_are_counted_by_call(
    tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    calls = [
        {"path": f"/shop.Orders/{name}", "body": '{"id": 7, "what": ["a", "b"]}'}
        for name in ("Get", "Miss", "Deny")
    ]
    (tmp_path / "mix.json").write_text(json.dumps({"kind": "http", "requests": calls}))
    options = ("--workload", tmp_path / "mix.json", "--descriptors", descriptors(tmp_path))
    with run_server(load_target_file(target(tmp_path))) as server:
        url = f"grpc://{server.address}"
        answer = measure(url, tmp_path / "study", *FEW, *options, "--header", "X-Tenant: a")
        wrong = measure(f"http://{server.address}/", tmp_path / "other", *FEW)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    assert (tmp_path / "notes").read_text().split() == ["080712016112" + "0162", "a"]
    codes = {name: set(kind["codes"]) for name, kind in answer.result["by_kind"].items()}
    assert codes == {
        "shop.Orders/Get": {"OK"},
        "shop.Orders/Miss": {"NOT_FOUND"},
        "shop.Orders/Deny": {"PERMISSION_DENIED"},
    }
    outcomes = {name: code["outcome"] for name, code in answer.result["codes"].items()}
    assert outcomes == {"OK": "hit", "NOT_FOUND": "miss", "PERMISSION_DENIED": "error"}
    wrong.assert_error(1, "wrong-protocol")
    assert f"grpc://{server.address}/" in wrong.result["hint"]

    protos = descriptors(tmp_path)
    for path, options, code in [
        ("/shop.Orders/Get", ("--body", '{"idd": 1}', "--descriptors", protos), "bad-value"),
        ("/shop.Orders/Get", ("--descriptors", tmp_path / "none"), "no-such-file"),
        ("/shop.Order/Get", ("--descriptors", protos), "unknown-name"),
        ("/shop.Orders/Watch", ("--descriptors", protos), "unsupported"),
    ]:
        answer = measure(f"grpc://127.0.0.1:1{path}", tmp_path / "no", *FEW, *options)
        answer.assert_error(2, code)
