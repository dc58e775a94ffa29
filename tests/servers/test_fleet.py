"""Load machines in network namespaces: a study through Dask, SSH and TLS, on real links."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from machines import machines
from measuring import assert_counts_add_up, measure
from messages import raises

pytest.importorskip("asyncssh", reason="hindmost[fleet] is not installed")
pytest.importorskip("distributed", reason="hindmost[fleet] is not installed")
from hindmost.core.fleet.dask.certificates import credentials
from hindmost.core.fleet.dask.session import Signer
from hindmost.core.fleet.dask.version import refuse_other
from hindmost.core.store import Study
from hindmost.errors import ClientError

LOAD = ("--rate", "2k", "--pacing", "sleep", "--sentinel", "off")
QUIET_WAKEUPS = 25
"""Wake-ups of the channel's process in a measurement: nearly none, since its timers pause. Dask's default is 90 a second."""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("two"), 2, {"b": 5_000_000}) as net:
        yield net


@pytest.fixture(scope="module")
def url(two):
    with two.memcached() as target_url:
        yield target_url


@pytest.fixture(scope="module")
def answer(two, url, tmp_path_factory):
    """A study of two runs by two machines."""
    out = tmp_path_factory.mktemp("fleet") / "study"
    answer = measure(url, out, "--fleet", two.hosts_file(), *LOAD)
    assert answer.code in (0, 4, 6), answer.err
    return answer


def test_two_machines_measure_a_server_on_a_third_and_begin_together(answer, two):
    result = answer.result
    assert_counts_add_up(result)
    assert result["counts"]["errors"] == result["counts"]["timeouts"] == 0
    assert result["clients"]["count"] == 2
    for run in result["runs"]:
        first, second = (client["counts"]["scheduled"] for client in run["clients"])
        assert 0.8 < first / second < 1.25, "the load is divided evenly"
    assert not two.leftovers()
    errors = []
    for run in Study.open(answer.study.folder).runs():
        moments = []
        for host in run.record.fleet:
            # The channel is silent during the measurement.
            channel = host.channel
            assert channel.bytes == 0
            assert channel.wakeups <= QUIET_WAKEUPS
            assert channel.seconds > 0.5
            # A clock that is 5 ms off is measured before and after the run.
            true_ns = 5_000_000 if host.host == "b" else 0
            for clock in (host.clock.before, host.clock.after):
                assert abs(clock.offset_ns - true_ns) <= clock.error_ns
                if true_ns:
                    errors.append(clock.error_ns)
            for index in host.clients:
                client = json.loads((run.folder / f"client-{index}.json").read_text())
                moments.append(client["measured_from_ns"] - host.clock.before.offset_ns)
        assert max(moments) - min(moments) < 5_000_000 / 2
    # A busy host may make any single reading inaccurate, with a large stated error.
    assert min(errors) < 5_000_000 / 2, "no reading is accurate enough to detect the offset"


@pytest.fixture(scope="module")
def channel(two):
    from hindmost.core.fleet.dask.channel import OwnChannel
    from hindmost.core.fleet.dask.hosts import parse_fleet

    own = OwnChannel(parse_fleet(str(two.hosts_file())))
    yield own
    own.close()


def ask_worker(address: str, security: Any, **message: Any) -> Any:
    """Connect to a worker and return its answer."""

    async def work() -> Any:
        from distributed.comm import connect
        from distributed.core import send_recv

        comm = await connect(address, timeout=5, **security.get_connection_args("client"))
        try:
            return await asyncio.wait_for(send_recv(comm, **message), 10)
        finally:
            comm.abort()

    return asyncio.run(work())


def test_workers_obey_only_the_controller_and_its_secrets_are_not_exposed(channel, two):
    from distributed.security import Security

    address = channel._reached["a"].address
    assert address.startswith("tls://")
    for stranger in (credentials(["stranger"])[0].security(), Security()):
        with pytest.raises((OSError, RuntimeError, TypeError)):
            ask_worker(address, stranger, op="identity")
    ours = channel._credentials["controller"].security()
    # A worker accepts no code, not even with the session's certificate.
    for op in ("run", "run_coroutine", "plugin-add", "actor_execute", "upload_file", "update_data"):
        with pytest.raises(ValueError, match="disallowed"):
            ask_worker(address, ours, op=op, function=b"", wait=True)
    text, signature = Signer().sign("a", {"hello": {}})
    reply = json.loads(ask_worker(address, ours, op="hindmost", text=text, signature=signature))
    assert reply["error"]["code"] == "rejected-command", "the signature is from another controller"
    assert channel.ask("a", {"hello": {}}).said.version

    # Errors of a host name the host.
    nowhere = f"{two.server.address}:1"
    with raises(ClientError, "server-unreachable", host="b", address=nowhere):
        channel.ask("b", {"reach": {"address": nowhere, "timeout_s": 2.0}})
    with raises(ClientError, "version-mismatch", host="b", value="9.9.9"):
        refuse_other("b", {"engine": channel.ask("b", {"hello": {}}).said.engine, "version": "9.9.9"})

    key = channel._credentials["a"].key.splitlines()[1]
    for machine in two.loads:
        for pid, line in machine.commands().items():
            environment = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
            assert key not in line + environment
            assert "BEGIN" not in line + environment
    files = [path for path in (two.folder / "tmp").rglob("*") if path.is_file()]
    assert not [path for path in files if "PRIVATE KEY" in path.read_text(errors="replace")]
