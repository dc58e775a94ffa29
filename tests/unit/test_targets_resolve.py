"""TARGET on the command line: its forms and errors."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.core.plan.secrets import trust
from hindmost.core.targets import Attached, Managed, parse_target
from hindmost.core.targets.resolve import resolve_host
from hindmost.errors import HindmostError, TargetError, UsageError


@each_row(
    ("text", "protocol", "address", "path"),
    [
        ("memcached://127.0.0.1:12345", "memcached", "127.0.0.1:12345", "/"),
        ("memcached://127.0.0.1", "memcached", "127.0.0.1:11211", "/"),
        ("redis://127.0.0.1/", "redis", "127.0.0.1:6379", "/"),
        ("HTTP://127.0.0.1", "http", "127.0.0.1:80", "/"),
        ("http://127.0.0.1:8080/a/b?c=d", "http", "127.0.0.1:8080", "/a/b?c=d"),
        ("http://127.0.0.1?c=d", "http", "127.0.0.1:80", "/?c=d"),
        ("redis://[::1]:7000", "redis", "[::1]:7000", "/"),
        ("redis://[::1]", "redis", "[::1]:6379", "/"),
        ("  memcached://127.0.0.1:1  ", "memcached", "127.0.0.1:1", "/"),
    ],
)
def test_a_url_names_a_running_server(text: str, protocol: str, address: str, path: str) -> None:
    target = parse_target(text)
    assert isinstance(target, Attached)
    assert (target.protocol, target.address, target.path, target.managed) == (protocol, address, path, False)


@each_row(
    ("text", "protocol", "address", "path", "secured"),
    [
        ("https://127.0.0.1/a", "http", "127.0.0.1:443", "/a", True),
        ("rediss://127.0.0.1:7", "redis", "127.0.0.1:7", "/", True),
        ("memcacheds://[::1]:7", "memcached", "[::1]:7", "/", True),
        ("redis+unix:///run/r.sock", "redis", "unix:/run/r.sock", "/", False),
        ("rediss+unix:///run/r.sock", "redis", "unix:/run/r.sock", "/", True),
        ("http+unix:///run/h.sock", "http", "unix:/run/h.sock", "/", False),
        ("http+unix:///run/h.sock:/a?b", "http", "unix:/run/h.sock", "/a?b", False),
    ],
)
def test_a_url_can_use_tls_or_a_unix_socket(
    text: str, protocol: str, address: str, path: str, secured: bool
) -> None:
    target = parse_target(text)
    assert isinstance(target, Attached)
    assert (target.protocol, target.address, target.path) == (protocol, address, path)
    assert target.secured == secured


def test_localhost_prefers_ipv4() -> None:
    target = parse_target("memcached://localhost:1")
    assert isinstance(target, Attached)
    assert target.addresses[0] == "127.0.0.1:1"


@each_row(
    ("text", "code", "fields"),
    [
        ("", "missing-argument", {"argument": "TARGET"}),
        ("memcache://h", "unknown-name", {"name": "memcache"}),
        ("memcache://ada:secret@h", "unknown-name", {"name": "memcache"}),
        ("unix:///run/m.sock", "missing-argument", {"name": "protocol"}),
        ("redis+unix://run/r.sock", "bad-value", {"name": "socket"}),
        ("redis+tcp://127.0.0.1", "unknown-name", {"name": "redis+tcp"}),
        (f"redis+unix:///{'x' * 200}", "bad-value", {"name": "socket", "most": 107}),
        ("memcached://127.0.0.1:0", "bad-value", {"name": "port", "port": "0", "least": 1, "most": 65535}),
        ("memcached://127.0.0.1:65536", "bad-value", {"name": "port", "port": "65536"}),
        ("memcached://127.0.0.1:", "bad-value", {"name": "port", "port": ""}),
        ("memcached://127.0.0.1:12a", "bad-value", {"name": "port", "port": "12a"}),
        ("memcached://127.0.0.1:-1", "bad-value", {"name": "port", "port": "-1"}),
        ("memcached://127.0.0.1:99999999999999999999", "bad-value", {"name": "port"}),
        ("memcached://", "missing-argument", {"name": "host"}),
        ("memcached://:11211", "missing-argument", {"name": "host"}),
        ("memcached://127.0.0.1/3", "bad-value", {"name": "path"}),
        ("memcached://user:secret@127.0.0.1", "unsupported", {"name": "login", "protocol": "memcached"}),
        ("http://user:secret@127.0.0.1", "unsupported", {"name": "login", "protocol": "http"}),
        ("redis://user:secret@127.0.0.1/3?protocol=4", "unknown-key", {"key": "protocol=4"}),
        ("raw://127.0.0.1", "missing-argument", {"name": "port"}),
        ("http://127.0.0.1/#x", "bad-value", {"name": "fragment"}),
        ("http://127.0.0.1/a b", "bad-value", {"name": "path"}),
        ("redis://::1:6379", "bad-value", {"name": "host"}),
        ("redis://[::g]:6379", "bad-value", {"name": "host"}),
        ("redis://[::1]x", "bad-value", {"name": "host"}),
        ("memcache", "unknown-name", {"name": "memcache"}),
        ("localhost:6379", "missing-argument", {"name": "protocol", "meant": "redis://localhost:6379"}),
        ("gone.toml", "no-such-file", {"path": "gone.toml"}),
        ("memcached?memory_mib", "bad-value", {"part": "memory_mib"}),
        ("memcached?memory_mib=1&memory_mib=2", "duplicate-name", {"name": "memory_mib"}),
        ("memcached?nonsense=1", "unknown-key", {"key": "nonsense"}),
    ],
)
def test_an_invalid_target_is_refused_without_its_secrets(
    text: str, code: str, fields: dict[str, object]
) -> None:
    with raises(UsageError, code, **fields) as caught:
        parse_target(text)
    assert "secret" not in f"{caught.value.message} {caught.value.hint} {caught.value.fields}"


@pytest.mark.parametrize(
    ("text", "login", "name"),
    [
        ("redis://127.0.0.1/3", {"database": "3"}, "redis://127.0.0.1/3"),
        ("redis://:s%40cret@127.0.0.1", {"password": "s@cret"}, "redis://@127.0.0.1"),
        ("redis://ada:secret@127.0.0.1:1", {"user": "ada", "password": "secret"}, "redis://ada@127.0.0.1:1"),
        ("redis://127.0.0.1?protocol=3", {"protocol": 3}, "redis://127.0.0.1?protocol=3"),
        (
            "postgresql://ada:env:PW@127.0.0.1/shop",
            {"user": "ada", "password": "env:PW", "database": "shop"},
            "postgresql://ada@127.0.0.1/shop",
        ),
    ],
)
def test_a_url_has_a_user_and_its_name_has_no_password(
    text: str, login: dict[str, object], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PW", "env:PW")
    trust("env:PW")
    target = parse_target(text)
    assert isinstance(target, Attached)
    assert target.login is not None
    assert target.login.engine(secrets=True) == login
    assert target.name == name
    assert "secret" not in repr(target)
    assert "s@cret" not in repr(target)


def test_an_unresolvable_host_is_a_target_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with raises(TargetError, "unresolvable", host="nowhere.invalid"):
        resolve_host("nowhere.invalid", 1)


@each_row("host", ["a" * 80 + ".invalid", "a..b", "x y"])
def test_a_malformed_host_name_is_a_target_error(host: str) -> None:
    with pytest.raises(HindmostError):
        parse_target(f"redis://{host}:1")


def test_a_preset_is_a_managed_target_with_options() -> None:
    target = parse_target("memcached?memory_mib=64")
    assert isinstance(target, Managed)
    assert (target.name, target.protocol, target.managed) == ("memcached", "memcached", True)
    assert target.spec.options["memory_mib"] == 64
    synth = parse_target('synth?service={"kind": "exponential", "mean_us": 200}&idle=spin')
    assert isinstance(synth, Managed)
    assert synth.spec.options["service"] == {"kind": "exponential", "mean_us": 200}
    assert synth.spec.options["idle"] == "spin"


def test_a_target_file_is_a_managed_target(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nprotocol = "http"\ncommand = ["serve", "{port}"]\npath = "/x"\n')
    target = parse_target(str(path))
    assert isinstance(target, Managed)
    assert (target.name, target.path, target.source) == ("mine", "/x", str(path))
