"""Hostile files: pipes, devices, endless files and deeply nested documents are refused quickly."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

import pytest
from messages import raises

from hindmost import _engine
from hindmost.core import documents
from hindmost.core.store import Study
from hindmost.errors import StudyError

MOST_CPU_S, MOST_BYTES = 20, 2 << 30
"""Far more than a refusal takes, and far less than the attacks once took (5.3 GB, 117 s, or no end)."""
CODE = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"


def limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))


def run_refused(*arguments: object) -> dict:
    """Run a command with little memory and CPU time; return its error."""
    command = [sys.executable, "-P", "-c", CODE, *map(str, arguments), "--json"]
    process = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=limit_resources,
    )
    assert process.returncode in (1, 2), process
    assert "Traceback" not in process.stderr
    return json.loads(process.stdout)


def nest(levels: int) -> str:
    return "[" * levels + "]" * levels


def create_study(tmp_path, write):
    study = tmp_path / "study"
    study.mkdir()
    write(study / "manifest.json")
    return study


REFUSAL_CODES = ("bad-file", "unreadable-file", "no-such-study", "unsupported-format")
MANIFESTS = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "sparse": lambda path: (path.touch(), os.truncate(path, 8 << 30)),
    "deep": lambda path: path.write_text(nest(100_000)),
    "cut off": lambda path: path.write_text('{"schema": "hindmost.study/1"'),
    "a list": lambda path: path.write_text("[]"),
    "numbers": lambda path: path.write_text('{"schema": "hindmost.study/1", "plan": NaN, "host": 1e999}'),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
}


CASES = [
    *((["study", "report"], kind) for kind in MANIFESTS),
    *((verb, kind) for verb in (["measure", "--resume"], ["compare", "."]) for kind in ("pipe", "deep")),
]


@pytest.mark.parametrize(("verb", "kind"), CASES)
def test_a_hostile_manifest_is_refused(tmp_path, verb, kind):
    assert run_refused(*verb, create_study(tmp_path, MANIFESTS[kind]))["code"] in REFUSAL_CODES


def test_hostile_manifests_do_not_stop_a_listing(tmp_path):
    for number, write in enumerate(MANIFESTS.values()):
        (tmp_path / f"{number}").mkdir()
        create_study(tmp_path / f"{number}", write)
    command = [sys.executable, "-P", "-c", CODE, "study", "list", str(tmp_path)]
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, preexec_fn=limit_resources
    )
    assert process.returncode in (0, 1)
    assert "Traceback" not in process.stderr


NESTED = {
    f"S{n}": {
        "type": "object",
        "properties": {f"p{i}": {"$ref": f"#/components/schemas/S{n + 1}"} for i in range(10)},
    }
    for n in range(9)
}
NESTED["S9"] = {"type": "string"}
OPENAPI = {
    "openapi": "3.0.0",
    "paths": {
        "/x": {
            "post": {
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
                },
                "responses": {},
            }
        }
    },
    "components": {"schemas": NESTED},
}
YAML = "a: &a [x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.toml", f"x = {nest(5_000)}\n"),
        ("deep.json", nest(5_000)),
        ("aliases.yaml", f"openapi: 3.0.0\n{YAML}"),
        ("deep.yaml", nest(5_000)),
        ("deep.har", f'{{"log": {{"entries": {nest(5_000)}}}}}'),
    ],
)
def test_a_deeply_nested_document_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    command = ["measure", "http://127.0.0.1:1/", "--rate", "1", "--requests", tmp_path / name]
    assert run_refused(*command)["code"] in ("bad-file", "bad-value", "unreadable-file", "missing-library")


def test_a_body_schema_that_grows_on_every_level_is_refused(tmp_path):
    (tmp_path / "nested.json").write_text(json.dumps(OPENAPI))
    command = ["measure", "http://127.0.0.1:1/", "--rate", "1", "--requests", tmp_path / "nested.json"]
    assert run_refused(*command)["code"] == "bad-file"


@pytest.mark.parametrize("command", [["attribute"], ["measure", "--rate", "1"], ["clone", "serve"]])
@pytest.mark.parametrize("kind", ["deep", "pipe"])
def test_a_hostile_study_target_or_clone_file_is_refused(tmp_path, command, kind):
    path = tmp_path / "x.toml"
    os.mkfifo(path) if kind == "pipe" else path.write_text(f"x = {nest(5_000)}\n")
    assert run_refused(*command, path)["code"] in (
        "bad-file",
        "unreadable-file",
        "no-such-file",
        "unknown-name",
    )


def test_a_sparse_ring_file_is_read_quickly(tmp_path):
    ring = tmp_path / "a.ring"
    header = {
        "schema": "hindmost.ring/1",
        "names": ["a"],
        "totals": [True],
        "blocks": (1 << 24) - 1,
        "about": {},
    }
    ring.write_bytes(json.dumps(header).encode().ljust(16 * 1024))
    os.truncate(ring, 256 << 30)
    start = time.process_time()
    frames = _engine.read_ring(str(ring))
    assert frames[4] == b""
    assert time.process_time() - start < 5


def test_a_sparse_log_or_an_endless_line_is_refused(tmp_path):
    log = tmp_path / "a.hlog"
    for write in (lambda: os.truncate(log, 8 << 30), lambda: log.write_bytes(b"x" * (20 << 20))):
        log.touch()
        write()
        with pytest.raises(_engine.EngineError):
            _engine.read_hlog(str(log))


def test_files_are_read_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert documents.read_bytes(path, 100) == b"x" * 100
    with pytest.raises(OSError, match="larger"):
        documents.read_bytes(path, 99)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(OSError):  # noqa: PT011 - the error number depends on the file
            documents.read_bytes(other)


def test_a_study_does_not_write_through_links(tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    study = Study.create(tmp_path / "study", {})
    names = (".part-result.json", "result.json", ".lock")
    for name in names:
        (study.folder / name).symlink_to(other)
    study.write("result.json", "{}")
    assert (study.folder / "result.json").read_text() == "{}"
    with raises(StudyError, "unwritable-file"), study.lock():
        pass
    assert other.read_text() == "mine"
    assert {path.name for path in study.folder.iterdir()} == {".lock", "manifest.json", "result.json", "runs"}
