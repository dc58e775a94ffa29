"""Usage errors of ``hindmost diagnose``, refused before anything starts."""

import socket

import pytest
from messages import assert_refused


@pytest.mark.parametrize(
    ("options", "code", "fields"),
    [
        (("--replica", "memcached://127.0.0.1:1"), "needs-managed-server", {"option": "--replica"}),
        (("--replica-rate", "500"), "missing-argument", {"option": "--replica"}),
    ],
)
def test_a_replica_must_be_started_and_named(options, code, fields, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = f"memcached://127.0.0.1:{server.getsockname()[1]}"
        assert_refused(["diagnose", target, *options], capsys, 2, code, **fields)
