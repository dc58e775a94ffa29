"""Target files: what is accepted, what is refused, and what the refusal says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hindmost.errors import HindmostError, TargetError, UsageError
from hindmost.targets import TargetSpec, load_target_file, preset, preset_names
from hindmost.targets.cpus import format_cpus, parse_cpus
from hindmost.targets.launch import choose_folder, find_program, prepare, threads_for
from hindmost.targets.presets import preset as named_preset
from hindmost.targets.spec import json_schema_text, parse_target_toml

ROOT = Path(__file__).parents[2]
GOOD = 'name = "s"\nprotocol = "redis"\ncommand = ["serve", "{port}"]\n'


def refusal(text: str, folder: Path = ROOT) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_target_toml(text, "x.toml", folder)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", ["not TOML", "Invalid value"]),
        ('name = "s"\ncommand = ["a", "{port}"]', ["protocol is missing"]),
        (GOOD + "prot = 1", ["unknown key prot", "did you mean port?"]),
        (GOOD + '[stop]\nsignl = "TERM"', ["unknown key stop.signl", "did you mean signal?"]),
        (GOOD + "[ready]\ntimeout = 3", ["unknown key ready.timeout", "did you mean timeout_s?"]),
        (GOOD + "port = 70000", ["port = 70000", "65535"]),
        (GOOD + 'port = "80"', ['port = "80"', "integer"]),
        (GOOD + "port = true", ["port = true", "integer"]),
        (GOOD + 'host = "example"', ['host = "example"', "not an IP address"]),
        (GOOD + 'host = "0.0.0.0"', ["all addresses"]),
        (GOOD + 'cpus = "3-1"', ['cpus = "3-1"', "backwards"]),
        (GOOD + 'cpus = "0,0"', ["twice"]),
        (GOOD + "cpus = []", ["no processor"]),
        (GOOD + "cpus = [0, true]", ["set of processors"]),
        (GOOD + 'cpus = "0-99999999999"', ["beyond"]),
        (GOOD + "threads = 0", ["threads = 0"]),
        (GOOD + '[stop]\nsignal = "TREM"', ['stop.signal = "TREM"', "did you mean TERM?"]),
        (GOOD + '[stop]\nsignal = "TERM"\ncommand = ["x"]', ["stop", "both signal and command"]),
        (GOOD + '[ready]\nkind = "command"', ["ready", "needs a command"]),
        (GOOD + '[ready]\ncommand = ["x"]', ["ready", 'kind = "protocol" does not use it']),
        (GOOD + '[ready]\nkind = "udp"', ['ready.kind = "udp"', "'protocol', 'tcp' or 'command'"]),
        (GOOD + "[ready]\ntimeout_s = nan", ["ready.timeout_s"]),
        (GOOD + '[files]\n"../x" = ""', ["inside {dir}"]),
        (GOOD + '[files]\n"/etc/x" = ""', ["inside {dir}"]),
        (GOOD + '[files]\nx = "listen {prot};"', ["files.x", "{prot}", "did you mean {port}?", "{{prot}}"]),
        (GOOD + 'user = "a"\nuser_if_root = "b"', ["both user and user_if_root"]),
        (GOOD + 'path = "/x"', ['protocol = "dns" or "http"', "redis"]),
        (GOOD + "[options]\nport = 3", ["options.port", "already a placeholder"]),
        (GOOD + "[options]\nPort = 3", ["options.Port"]),
        (GOOD.replace("{port}", "6379"), ["port = 0", "neither {port} nor {address}"]),
        (GOOD.replace('["serve", "{port}"]', "[]"), ["command = []", "at least 1 item"]),
        (GOOD.replace('["serve", "{port}"]', '"serve {port}"'), ["command", "list"]),
        (GOOD.replace("redis", "oracle"), ['protocol = "oracle"', "'memcached'", "'http'"]),
        (GOOD + "port = -1\nthreads = -1", ["2 problems", "port = -1", "threads = -1"]),
    ],
)
def test_a_wrong_target_file_is_refused_with_file_key_and_value(text: str, words: list[str]) -> None:
    message = str(refusal(text))
    assert "x.toml" in message
    for word in words:
        assert word in message


def test_a_good_target_file_keeps_what_it_says(tmp_path: Path) -> None:
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
    for name, word in [
        ("gone.toml", "does not exist"),
        ("", "is not a file"),
        ("bytes.toml", "not UTF-8"),
        ("big.toml", "larger"),
    ]:
        with pytest.raises(UsageError, match=word):
            load_target_file(tmp_path / name)


def test_every_preset_and_example_is_a_good_target() -> None:
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


def test_a_mistyped_preset_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean memcached\?") as caught:
        named_preset("memcache")
    assert "nginx" in (caught.value.hint or "")


def test_the_schema_in_the_tree_is_current() -> None:
    path = ROOT / "schemas" / "target.schema.json"
    again = "python -m hindmost.targets.spec > schemas/target.schema.json"
    assert path.read_text() == json_schema_text(), f"make it again: {again}"


def test_the_schema_accepts_every_preset() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(json_schema_text())
    for name in preset_names():
        jsonschema.validate(json.loads(preset(name).model_dump_json(exclude_none=True)), schema)


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", [0]), ("3,1", [1, 3]), (" 0-1 , 4 ", [0, 1, 4]), ([7, 2], [2, 7])]
)
def test_processor_lists_are_read_and_written(text: object, cpus: list[int]) -> None:
    assert parse_cpus(text) == cpus
    assert parse_cpus(format_cpus(cpus)) == cpus


def test_options_change_only_what_exists() -> None:
    spec = preset("memcached").with_options({"memory_mib": 64})
    assert spec.options == {**preset("memcached").options, "memory_mib": 64}
    with pytest.raises(UsageError, match=r"memory_mib") as caught:
        spec.with_options({"memory": 64})
    assert "memory_mib, connections" in (caught.value.hint or "")


def test_threads_follow_the_processors_of_the_server() -> None:
    spec = preset("memcached")
    assert threads_for(spec, [0, 1, 2]) == 3
    assert threads_for(spec, None) == len(os.sched_getaffinity(0))
    assert threads_for(spec.model_copy(update={"threads": 5}), [0]) == 5


def test_a_missing_program_says_how_to_install_it(tmp_path: Path) -> None:
    spec = preset("memcached").model_copy(update={"command": ["no-such-memcached", "{port}"]})
    with pytest.raises(TargetError, match="no-such-memcached is not installed") as caught:
        prepare(spec, tmp_path, cpus=None, port=1, log=None)
    assert (caught.value.exit_code, caught.value.hint) == (1, "apt-get install memcached")
    (tmp_path / "data").write_text("")
    spec._folder = tmp_path
    for name, word in [("./data", "not executable"), ("./gone", "does not exist")]:
        with pytest.raises(TargetError, match=word):
            find_program(spec, name, {})


def test_a_program_of_the_system_is_found_without_its_folder_in_path() -> None:
    spec = preset("nginx")
    try:
        assert find_program(spec, "nginx", {"PATH": "/usr/bin:/bin"}).endswith("/nginx")
    except TargetError:
        pytest.skip("nginx is not installed")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"cpus": [8000]}, "processor 8000 is missing or offline"),
        ({"user": "no-such-user"}, "no such user"),
        ({"user_if_root": "no-such-user"}, "no such user"),
    ],
)
def test_a_target_this_machine_cannot_run_is_refused_before_the_start(
    changes: dict[str, object], word: str, tmp_path: Path
) -> None:
    if "user_if_root" in changes and os.geteuid() != 0:
        pytest.skip("only root switches users")
    spec = TargetSpec(name="s", protocol="redis", command=["sleep", "{port}"]).model_copy(update=changes)
    with pytest.raises(HindmostError, match=word):
        prepare(spec, tmp_path, cpus=spec.cpus, port=1, log=None)


def test_the_synth_preset_is_told_its_service_as_json(tmp_path: Path) -> None:
    spec = preset("synth").with_options({"service": {"kind": "exponential", "mean_us": 200}})
    launch = prepare(spec, tmp_path, cpus=[0], port=1234, log=None)
    told = json.loads(launch.request.argv[-1])
    assert told["address"] == "127.0.0.1:1234"
    assert (told["threads"], told["service"]) == (1, {"kind": "exponential", "mean_us": 200})


def test_preparing_fills_in_placeholders_and_files(tmp_path: Path) -> None:
    text = GOOD.replace("serve", "sleep") + (
        'cwd = "."\ncpus = [0]\nenv = {A = "{address} {{x}}"}\n'
        '[files]\n"sub/conf" = "{threads} {cpus} {options}"\n'
        "[options]\nservice = {kind = 'none'}\n"
    )
    folder = tmp_path / "dir"
    folder.mkdir()
    spec = parse_target_toml(text, "x", tmp_path)
    request = prepare(spec, folder, cpus=[0], port=1234, log=tmp_path / "log").request
    assert request.argv == ["sleep", "1234"]
    assert request.env["A"] == "127.0.0.1:1234 {x}"
    assert (folder / "sub" / "conf").read_text() == '1 0 {"service": {"kind": "none"}}'
    assert (request.cwd, request.log) == (str(tmp_path), str(tmp_path / "log"))
    with pytest.raises(TargetError, match="cannot write the files of s"):
        prepare(spec, Path("/proc/no"), cpus=[0], port=1234, log=None)


def test_the_folder_lies_where_the_servers_user_can_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Path(choose_folder(preset("synth")).path).parent == tmp_path
    if os.geteuid() == 0:
        tmp_path.chmod(0o700)
        assert Path(choose_folder(preset("memcached")).path).parent == Path("/tmp")
