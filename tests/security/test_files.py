"""Files of others: pipes, devices, files without end, documents without bottom. Each is refused, and soon."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

import pytest
from messages import raises

from hindmost import _engine, documents
from hindmost.errors import StudyError
from hindmost.store import Study

MOST_CPU_S, MOST_BYTES = 20, 2 << 30
"""Far beyond what a refusal takes, far below what the attacks took (5.3 GB, 117 s, for ever)."""
CODE = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))


def refuse(*words: object) -> dict:
    """Run a command with little memory and little time; return its error."""
    command = [sys.executable, "-P", "-c", CODE, *map(str, words), "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode in (1, 2), done
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def study_with(tmp_path, make):
    study = tmp_path / "study"
    study.mkdir()
    make(study / "manifest.json")
    return study


REFUSED = ("bad-file", "unreadable-file", "no-such-study", "unsupported-format")
MANIFESTS = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "sparse": lambda path: (path.touch(), os.truncate(path, 8 << 30)),
    "deep": lambda path: path.write_text(deep(100_000)),
    "cut off": lambda path: path.write_text('{"schema": "hindmost.study/1"'),
    "a list": lambda path: path.write_text("[]"),
    "numbers": lambda path: path.write_text('{"schema": "hindmost.study/1", "plan": NaN, "host": 1e999}'),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
}


ASKED = [
    *((["study", "report"], what) for what in MANIFESTS),
    *((verb, what) for verb in (["measure", "--resume"], ["compare", "."]) for what in ("pipe", "deep")),
]


@pytest.mark.parametrize(("verb", "what"), ASKED)
def test_a_hostile_manifest_is_refused(tmp_path, verb, what):
    assert refuse(*verb, study_with(tmp_path, MANIFESTS[what]))["code"] in REFUSED


def test_hostile_manifests_stop_no_list(tmp_path):
    for number, make in enumerate(MANIFESTS.values()):
        (tmp_path / f"{number}").mkdir()
        study_with(tmp_path / f"{number}", make)
    command = [sys.executable, "-P", "-c", CODE, "study", "list", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, preexec_fn=limit)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr


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
        ("deep.toml", f"x = {deep(5_000)}\n"),
        ("deep.json", deep(5_000)),
        ("aliases.yaml", f"openapi: 3.0.0\n{YAML}"),
        ("deep.yaml", deep(5_000)),
        ("deep.har", f'{{"log": {{"entries": {deep(5_000)}}}}}'),
    ],
)
def test_a_document_without_bottom_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    words = ["measure", "http://127.0.0.1:1/", "--rate", "1", "--requests", tmp_path / name]
    assert refuse(*words)["code"] in ("bad-file", "bad-value", "unreadable-file", "missing-library")


def test_a_body_that_grows_on_every_level_is_refused(tmp_path):
    (tmp_path / "nested.json").write_text(json.dumps(OPENAPI))
    words = ["measure", "http://127.0.0.1:1/", "--rate", "1", "--requests", tmp_path / "nested.json"]
    assert refuse(*words)["code"] == "bad-file"


@pytest.mark.parametrize("words", [["attribute"], ["measure", "--rate", "1"], ["clone", "serve"]])
@pytest.mark.parametrize("kind", ["deep", "pipe"])
def test_a_study_or_target_or_clone_file_is_refused(tmp_path, words, kind):
    path = tmp_path / "x.toml"
    os.mkfifo(path) if kind == "pipe" else path.write_text(f"x = {deep(5_000)}\n")
    assert refuse(*words, path)["code"] in ("bad-file", "unreadable-file", "no-such-file", "unknown-name")


def test_a_sparse_ring_is_read_in_a_moment(tmp_path):
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
    begun = time.process_time()
    frames = _engine.read_ring(str(ring))
    assert frames[4] == b""
    assert time.process_time() - begun < 5


def test_a_sparse_log_or_a_line_without_end_is_refused(tmp_path):
    log = tmp_path / "a.hlog"
    for make in (lambda: os.truncate(log, 8 << 30), lambda: log.write_bytes(b"x" * (20 << 20))):
        log.touch()
        make()
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
        with pytest.raises(OSError):  # noqa: PT011 (a folder has a number of its own)
            documents.read_bytes(other)


def test_links_in_a_study_lead_no_write_to_another_file(tmp_path):
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
