"""Unary calls of gRPC at a real server: what arrives is the message, and statuses are told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from measuring import Household, assert_counts_close, measure, running

from hindmost.targets import load_target_file

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

def of(what):
    return grpc.unary_unary_rpc_method_handler(what)

server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shop.Orders", {
    "Get": of(get),
    "Miss": of(fails(grpc.StatusCode.NOT_FOUND)),
    "Deny": of(fails(grpc.StatusCode.PERMISSION_DENIED)),
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
    """What protoc would write of a small proto."""
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


def test_a_message_arrives_as_its_proto_says_and_the_account_closes(
    tmp_path: Path, household: Household
) -> None:
    message = ("--descriptors", descriptors(tmp_path), "--body", '{"id": 7, "what": ["a", "b"]}')
    answer = measure(str(target(tmp_path)), tmp_path / "study", *FEW, *message, "--header", "X-Tenant: a")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    counts = answer.result["counts"]
    assert (counts["errors"], counts["misses"], counts["unsent"]) == (0, 0, 0), counts
    assert counts["done"] > 0.9 * counts["due"]
    assert set(answer.result["codes"]) == {"OK"}
    assert list(answer.result["by_kind"]) == ["shop.Orders/Get"]
    assert (tmp_path / "notes").read_text().split() == ["080712016112" + "0162", "a"]


def test_statuses_are_told_apart_by_call(tmp_path: Path, household: Household) -> None:
    calls = [{"path": f"/shop.Orders/{name}", "body": '{"id": 1}'} for name in ("Get", "Miss", "Deny")]
    (tmp_path / "mix.json").write_text(json.dumps({"kind": "http", "requests": calls}))
    asked = ("--workload", tmp_path / "mix.json", "--descriptors", descriptors(tmp_path))
    with running(load_target_file(target(tmp_path))) as server:
        answer = measure(f"grpc://{server.address}", tmp_path / "study", *FEW, *asked)
    assert_counts_close(answer.result)
    codes = {name: set(one["codes"]) for name, one in answer.result["by_kind"].items()}
    assert codes == {
        "shop.Orders/Get": {"OK"},
        "shop.Orders/Miss": {"NOT_FOUND"},
        "shop.Orders/Deny": {"PERMISSION_DENIED"},
    }
    outcomes = {name: one["outcome"] for name, one in answer.result["codes"].items()}
    assert outcomes == {"OK": "hit", "NOT_FOUND": "miss", "PERMISSION_DENIED": "error"}
    assert "PERMISSION_DENIED" in answer.err + answer.out


def test_a_server_of_grpc_that_is_taken_for_another_is_told(tmp_path: Path, household: Household) -> None:
    with running(load_target_file(target(tmp_path))) as server:
        answer = measure(f"http://{server.address}/", tmp_path / "study", "--rate", "100")
        answer.assert_one_clear_error(
            1,
            "does not speak http",
            f"http2://{server.address}, or grpc://{server.address}/package.Service/Method",
        )


def test_what_is_no_call_is_refused_by_name(tmp_path: Path, household: Household) -> None:
    at, protos = str(target(tmp_path)), descriptors(tmp_path)
    for words, told in [
        (("--body", '{"id": 1}'), "--descriptors"),
        (("--body", '{"idd": 1}', "--descriptors", protos), "idd"),
        (("--body", "{{uuid}}", "--descriptors", protos), "shop.Order"),
        (("--descriptors", tmp_path / "orders.toml"), "no FileDescriptorSet"),
        (("--descriptors", tmp_path / "none"), "No such file"),
        (("--accept", "2xx"), "--accept"),
    ]:
        measure(at, tmp_path / "no", *FEW, *words).assert_one_clear_error(2, told)
    for path, told in [
        ("/shop.Order/Get", "did you mean shop.Orders"),
        ("/shop.Orders/Watch", "is a stream"),
        ("", "names no method"),
    ]:
        refused = measure(f"grpc://127.0.0.1:1{path}", tmp_path / "no", *FEW, "--descriptors", protos)
        refused.assert_one_clear_error(2, told)
