"""What ``hindmost diagnose`` refuses before anything is started."""

import socket

import pytest
from messages import assert_refused


@pytest.mark.parametrize(
    ("words", "code", "fields"),
    [
        (("--replica", "memcached://127.0.0.1:1"), "needs-managed-server", {"option": "--replica"}),
        (("--replica-rate", "500"), "missing-argument", {"option": "--replica"}),
    ],
)
def test_a_replica_must_be_started_and_named(words, code, fields, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = f"memcached://127.0.0.1:{server.getsockname()[1]}"
        assert_refused(["diagnose", where, *words], capsys, 2, code, **fields)
