"""Target files: accepted documents, and refused ones with their codes and fields."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from messages import raises
from rows import each_row

from hindmost.core.plan.protocols import PROTOCOLS
from hindmost.core.targets import TargetSpec, load_target_file, preset, preset_names
from hindmost.core.targets.cpus import format_cpus, parse_cpus
from hindmost.core.targets.launch import choose_folder, find_program, prepare, threads_for
from hindmost.core.targets.presets import preset as named_preset
from hindmost.core.targets.spec import json_schema_text, parse_target_toml
from hindmost.core.targets.users import account
from hindmost.errors import HindmostError, TargetError, UsageError

ROOT = Path(__file__).parents[2]
GOOD = 'name = "s"\nprotocol = "redis"\ncommand = ["serve", "{port}"]\n'


CONFLICT = "conflicting-options"


@each_row(
    ("text", "code", "fields"),
    [
        ("name = ", "bad-file", {}),
        ('name = "s"\ncommand = ["a", "{port}"]', "missing-argument", {"key": "protocol"}),
        (GOOD + "prot = 1", "unknown-key", {"key": "prot", "line": 4}),
        (GOOD + '[stop]\nsignl = "TERM"', "unknown-key", {"key": "stop.signl", "line": 5}),
        (GOOD + "[ready]\ntimeout = 3", "unknown-key", {"key": "ready.timeout"}),
        (GOOD + "port = 70000", "bad-value", {"key": "port", "value": 70000, "line": 4}),
        (GOOD + 'port = "80"', "bad-value", {"key": "port", "value": "80"}),
        (GOOD + "port = true", "bad-value", {"key": "port", "value": True}),
        (GOOD + 'host = "example"', "bad-value", {"key": "host", "value": "example"}),
        (GOOD + 'host = "0.0.0.0"', "bad-value", {"key": "host", "value": "0.0.0.0"}),
        (GOOD + 'cpus = "3-1"', "bad-value", {"key": "cpus", "value": "3-1"}),
        (GOOD + 'cpus = "0,0"', "duplicate-name", {"key": "cpus"}),
        (GOOD + "cpus = []", "bad-value", {"key": "cpus", "value": []}),
        (GOOD + "cpus = [0, true]", "bad-value", {"key": "cpus", "value": [0, True]}),
        (GOOD + 'cpus = "0-99999999999"', "bad-value", {"key": "cpus", "most": 8191}),
        (GOOD + "threads = 0", "bad-value", {"key": "threads", "value": 0}),
        (GOOD + '[stop]\nsignal = "TREM"', "unknown-name", {"key": "stop.signal", "name": "TREM"}),
        (GOOD + '[stop]\nsignal = "TERM"\ncommand = ["x"]', CONFLICT, {"key": "stop.signal"}),
        (GOOD + '[ready]\nkind = "command"', "missing-argument", {"key": "ready.command"}),
        (GOOD + '[ready]\ncommand = ["x"]', CONFLICT, {"key": "ready.command", "other": "ready.kind"}),
        (GOOD + '[ready]\nkind = "udp"', "bad-value", {"known": ["protocol", "tcp", "command"]}),
        (GOOD + "[ready]\ntimeout_s = nan", "bad-value", {"key": "ready.timeout_s"}),
        (GOOD + '[files]\n"../x" = ""', "bad-value", {"key": "files", "name": "../x"}),
        (GOOD + '[files]\n"/etc/x" = ""', "bad-value", {"key": "files", "name": "/etc/x"}),
        (GOOD + '[files]\nx = "listen {prot};"', "unknown-name", {"key": "files.x", "name": "prot"}),
        (GOOD + 'user = "a"\nuser_if_root = "b"', CONFLICT, {"key": "user", "other": "user_if_root"}),
        (GOOD + 'path = "/x"', CONFLICT, {"key": "path", "value": "redis"}),
        (GOOD + "[options]\nport = 3", "duplicate-name", {"key": "options.port"}),
        (GOOD + "[options]\nPort = 3", "bad-value", {"key": "options.Port"}),
        (GOOD.replace("{port}", "6379"), "missing-argument", {"key": "port"}),
        (GOOD.replace('["serve", "{port}"]', "[]"), "bad-value", {"key": "command", "value": []}),
        (GOOD.replace('["serve", "{port}"]', '"serve {port}"'), "bad-value", {"key": "command"}),
        (GOOD.replace("redis", "oracle"), "bad-value", {"key": "protocol", "known": list(PROTOCOLS)}),
    ],
)
def test_an_invalid_target_file_is_refused(text: str, code: str, fields: dict[str, Any]) -> None:
    with raises(UsageError, code, path="x.toml", **fields):
        parse_target_toml(text, "x.toml", ROOT)


def test_all_problems_of_a_target_file_are_listed() -> None:
    with raises(UsageError, "bad-file", path="x.toml") as caught:
        parse_target_toml(GOOD + "port = -1\nthreads = -1", "x.toml", ROOT)
    assert caught.value.fields["problems"] == [
        {"code": "bad-value", "key": "port", "value": -1, "line": 4},
        {"code": "bad-value", "key": "threads", "value": -1, "line": 5},
    ]


def test_a_valid_target_file_keeps_its_values(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(GOOD + 'cpus = "0-2,5"\n[stop]\nsignal = "SIGINT"\ntimeout_s = 1')
    spec = load_target_file(tmp_path / "t.toml")
    assert (spec.cpus, spec.stop.signal, spec.stop.timeout_s, spec.folder) == (
        [0, 1, 2, 5],
        "INT",
        1.0,
        tmp_path,
    )


def test_an_unreadable_target_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "big.toml").write_bytes(b"#" * (2 << 20))
    for name, code in [
        ("gone.toml", "no-such-file"),
        ("", "unreadable-file"),
        ("bytes.toml", "bad-file"),
        ("big.toml", "bad-file"),
    ]:
        with raises(UsageError, code, path=str(tmp_path / name)):
            load_target_file(tmp_path / name)


def test_every_preset_and_example_is_a_valid_target() -> None:
    assert preset_names() == [
        "apache",
        "haproxy",
        "memcached",
        "memcached-udp",
        "nginx",
        "nutcracker",
        "postgresql",
        "redis",
        "synth",
        "unbound",
    ]
    for name in preset_names():
        assert preset(name).name == name
    examples = sorted((ROOT / "examples" / "targets").glob("*.toml"))
    assert len(examples) >= 3
    for path in examples:
        assert load_target_file(path).name == path.stem


def test_an_unknown_preset_is_refused() -> None:
    with raises(UsageError, "unknown-name", name="memcache", known=preset_names()):
        named_preset("memcache")


def test_the_schema_accepts_every_preset() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(json_schema_text()))
    for name in preset_names():
        validator.validate(json.loads(preset(name).model_dump_json(exclude_none=True)))


@each_row(("text", "cpus"), [("0", [0]), ("3,1", [1, 3]), (" 0-1 , 4 ", [0, 1, 4]), ([7, 2], [2, 7])])
def test_processor_lists_are_parsed_and_formatted(text: object, cpus: list[int]) -> None:
    assert parse_cpus(text) == cpus
    assert parse_cpus(format_cpus(cpus)) == cpus


def test_options_change_only_existing_keys() -> None:
    spec = preset("memcached").with_options({"memory_mib": 64})
    assert spec.options == {**preset("memcached").options, "memory_mib": 64}
    with raises(UsageError, "unknown-key", key="memory", known=list(spec.options)):
        spec.with_options({"memory": 64})


def test_threads_follow_the_processors_of_the_server() -> None:
    spec = preset("memcached")
    assert threads_for(spec, [0, 1, 2]) == 3
    assert threads_for(spec, None) == len(os.sched_getaffinity(0))
    assert threads_for(spec.model_copy(update={"threads": 5}), [0]) == 5


def test_a_missing_program_says_how_to_install_it(tmp_path: Path) -> None:
    spec = preset("memcached").model_copy(update={"command": ["no-such-memcached", "{port}"]})
    with raises(TargetError, "missing-program", name="no-such-memcached", package="memcached") as caught:
        prepare(spec, tmp_path, account(spec), cpus=None, port=1, log=None)
    assert (caught.value.exit_code, caught.value.hint) == (1, "apt-get install memcached")
    (tmp_path / "data").write_text("")
    spec._folder = tmp_path
    for name in ("./data", "./gone"):  # not executable, and missing
        with raises(TargetError, "missing-program", path=str(tmp_path / name)):
            find_program(spec, name, {})


def test_a_system_program_is_found_outside_path() -> None:
    spec = preset("nginx")
    try:
        assert find_program(spec, "nginx", {"PATH": "/usr/bin:/bin"}).endswith("/nginx")
    except TargetError:
        pytest.skip("nginx is not installed")


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"cpus": [8000]}, "bad-value", {"key": "cpus", "missing": [8000]}),
        ({"user": "no-such-user"}, "unknown-name", {"key": "user", "name": "no-such-user"}),
        ({"user_if_root": "no-such-user"}, "unknown-name", {"key": "user_if_root", "name": "no-such-user"}),
    ],
)
def test_an_unsupported_target_is_refused_before_the_start(
    changes: dict[str, object], code: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    if "user_if_root" in changes and os.geteuid() != 0:
        pytest.skip("switching users requires root")
    spec = TargetSpec(name="s", protocol="redis", command=["sleep", "{port}"]).model_copy(update=changes)
    with raises(HindmostError, code, **fields):
        prepare(spec, tmp_path, account(spec), cpus=spec.cpus, port=1, log=None)


def test_the_synth_preset_gets_its_service_as_json(tmp_path: Path) -> None:
    spec = preset("synth").with_options({"service": {"kind": "exponential", "mean_us": 200}})
    launch = prepare(spec, tmp_path, account(spec), cpus=[0], port=1234, log=None)
    document = json.loads(launch.request.argv[-1])
    assert document["address"] == "127.0.0.1:1234"
    assert (document["threads"], document["service"]) == (1, {"kind": "exponential", "mean_us": 200})


def test_preparation_fills_in_placeholders_and_files(tmp_path: Path) -> None:
    text = GOOD.replace("serve", "sleep") + (
        'cwd = "."\ncpus = [0]\nenv = {A = "{address} {{x}}"}\n'
        '[files]\n"sub/conf" = "{threads} {cpus} {options}"\n'
        "[options]\nservice = {kind = 'none'}\n"
    )
    folder = tmp_path / "dir"
    folder.mkdir()
    spec = parse_target_toml(text, "x", tmp_path)
    request = prepare(spec, folder, account(spec), cpus=[0], port=1234, log=tmp_path / "log").request
    assert request.argv == ["sleep", "1234"]
    assert request.env["A"] == "127.0.0.1:1234 {x}"
    assert (folder / "sub" / "conf").read_text() == '1 0 {"service": {"kind": "none"}}'
    assert (request.cwd, request.log) == (str(tmp_path), str(tmp_path / "log"))
    with raises(TargetError, "unwritable-file", name="s", path="/proc/no"):
        prepare(spec, Path("/proc/no"), account(spec), cpus=[0], port=1234, log=None)


def test_the_user_of_the_server_can_enter_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Path(choose_folder(preset("synth"), account(preset("synth"))).path).parent == tmp_path
    if os.geteuid() == 0:
        tmp_path.chmod(0o700)
        assert Path(choose_folder(preset("memcached"), account(preset("memcached"))).path).parent == Path(
            "/tmp"
        )
