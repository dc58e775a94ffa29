"""Servers over TLS, on Unix sockets, and from chosen source addresses are started, probed and measured."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tls_targets
from certificates import issue
from measuring import Answer, ProcessTracker, assert_counts_add_up, hindmost, measure, need, run_server

from hindmost.core.plan.login import Login
from hindmost.core.targets import load_target_file

BRIEFLY = ("--spin", "10ms", "--json")
FEW = ("--clients", "1", "--connections", "4", "--rate", "400", "--timeout", "1s", "--runs", "1")
NGINX = """
name = "nginx-tls"
protocol = "http"
command = ["nginx", "-p", "{dir}", "-c", "{dir}/nginx.conf"]
package = "nginx"
[tls]
ca = "ca.pem"
[files]
"nginx.conf" = \"\"\"
daemon off; worker_processes 1; pid {dir}/pid; error_log stderr warn; USER
events { worker_connections 256; }
http {
  access_log off; keepalive_requests KEEPS; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p;
  fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
  server {
    listen {address} ssl;
    ssl_certificate {here}/server.pem; ssl_certificate_key {here}/server.key; MORE
    location / { return 200 'hello'; }
  }
}
\"\"\"
"""
REDIS = """
name = "redis-tls"
protocol = "redis"
command = ["redis-server", "--port", "0", "--tls-port", "{port}", "--save", "", "--dir", "{dir}", \
"--tls-cert-file", "{here}/server.pem", "--tls-key-file", "{here}/server.key", \
"--tls-ca-cert-file", "{here}/ca.pem"]
package = "redis-server"
[tls]
ca = "ca.pem"
cert = "client.pem"
key = "client.key"
"""
MEMCACHED = """
name = "memcached-tls"
protocol = "memcached"
command = ["memcached", "-Z", "-o", "ssl_chain_cert={here}/server.pem,ssl_key={here}/server.key", "-p", "{port}", \
"-U", "0", "-l", "{host}", "-u", "root", "-t", "1"]
package = "memcached"
[tls]
ca = "ca.pem"
"""
ON_A_SOCKET = """
name = "memcached"
protocol = "memcached"
socket = "{dir}/memcached.sock"
command = ["memcached", "-s", "{socket}", "-a", "666", "-u", "root", "-t", "1"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with certificates that servers can read without root."""
    tls_targets.place_certificates(tmp_path)
    return tmp_path


def nginx(keeps: int = 1_000_000, more: str = "") -> str:
    user = "user root;" if os.getuid() == 0 else ""
    return NGINX.replace("USER", user).replace("KEEPS", str(keeps)).replace("MORE", more)


def write_target(folder: Path, text: str, program: str) -> Path:
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip(f"{program} is not installed")
    file = folder / "target.toml"
    file.write_text(text)
    return file


def assert_nothing_lost(answer: Answer) -> None:
    """Assert that all requests were completed."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert (counts["errors"], counts["misses"]) == (0, 0), counts
    assert counts["completed"] > 0


@contextmanager
def running(place: Path, text: str, program: str) -> Iterator[str]:
    with run_server(load_target_file(write_target(place, text, program))) as server:
        yield server.address


@pytest.mark.nginx
def test_a_running_server_is_measured_by_its_url_and_mistakes_are_reported(
    place: Path, process_tracker: ProcessTracker
) -> None:
    issue(place, ca="other")
    with running(place, nginx(), "nginx") as address:
        url, ca = f"https://{address}/", place / "ca.pem"
        answer = measure(url, place / "study", *FEW, "--ca", ca)
        assert_nothing_lost(answer)
        connections = answer.result["connections"]
        assert connections["full_handshakes"] + connections["resumed_handshakes"] == connections["all"] > 0
        assert answer.result["handshake_us"] is None or answer.result["handshake_us"]["p50"]["value"] > 0
        for number, (options, code, kind) in enumerate(
            [
                (("--ca", place / "other.pem"), 1, "tls-certificate"),
                (("--ca", ca, "--sni", "elsewhere.example"), 1, "tls-certificate"),
                (("--ca", ca, "--cert", place / "client.pem", "--key", place / "server.key"), 2, "tls-file"),
            ]
        ):
            measure(url, place / f"no-{number}", *FEW, *options).assert_error(code, kind)
        check = hindmost("host", "doctor", url, "--ca", ca, *BRIEFLY)
        assert check.code in (0, 5), check.err
        hindmost("host", "doctor", url, *BRIEFLY).assert_error(1, "tls-certificate")
    with running(place, nginx().replace(" ssl;", ";").replace("[tls]\nca", "#"), "nginx") as address:
        measure(f"https://{address}/", place / "no-tls", *FEW, "--ca", ca).assert_error(1, "tls-plain")


@pytest.mark.redis
def test_a_server_that_requires_a_client_certificate_gets_it_and_refuses_clients_without(
    place: Path, process_tracker: ProcessTracker
) -> None:
    assert_nothing_lost(measure(str(write_target(place, REDIS, "redis-server")), place / "managed", *FEW))
    with running(place, REDIS, "redis-server") as address:
        answer = measure(f"rediss://{address}", place / "study", *FEW, "--ca", place / "ca.pem")
        answer.assert_error(1, "tls-refused")


CERTIFICATE_LOGIN = {
    'auth = "trust"': 'auth = "scram-sha-256"',
    "-c ssl_key_file": "-c ssl_ca_file={here}/ca.pem -c ssl_key_file",
    "cp {here}/server.key": "sed -i '1i hostssl all client all scram-sha-256 clientcert=verify-full' data/pg_hba.conf\n"
    "cp {here}/server.key",
    "create table": "create role client login password 'hindmost' in role pg_read_all_data;\ncreate table",
}
"""PostgreSQL accepts user `client` with a password and a certificate of that name, all others with a password."""


@pytest.mark.postgresql
def test_postgresql_accepts_a_user_with_its_certificate_and_refuses_others(
    tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    need("postgresql")
    folder = tls_targets.place_certificates(tmp_path)
    file = tls_targets.add_tls(tls_targets.POSTGRESQL, folder, CERTIFICATE_LOGIN)
    login = Login(user="hindmost", password="hindmost", database="postgres")
    with run_server(load_target_file(file).model_copy(update={"login": login})) as server:
        url = f"postgresqls://client:hindmost@{server.address}/postgres"

        def measure_as(name: str) -> Answer:
            own = ("--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key") if name else ()
            return measure(url, tmp_path / f"as-{name}", *FEW, "--ca", folder / "ca.pem", *own)

        assert_nothing_lost(measure_as("client"))
        measure_as("").assert_error(1, "login-refused")
        # The certificate's name is not the user's, which PostgreSQL reports as a wrong password.
        measure_as("server").assert_error(1, "login-refused")
        plain = f"postgresql://hindmost:hindmost@{server.address}/postgres"
        measure(plain, tmp_path / "plain", *FEW).assert_error(1, "login-refused")


@pytest.mark.memcached
def test_a_unix_socket_and_connections_from_source_addresses_are_measured(
    tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    need("memcached")
    target = tmp_path / "target.toml"
    target.write_text(ON_A_SOCKET)
    assert_nothing_lost(measure(str(target), tmp_path / "managed", *FEW))
    with run_server(load_target_file(target)) as server:
        path = server.address.removeprefix("unix:")
        answer = measure(f"memcached+unix://{path}", tmp_path / "attached", *FEW)
        assert_nothing_lost(answer)
        assert answer.result["target"]["address"] == f"unix:{path}"
    with run_server(need("memcached")) as server:
        url = f"memcached://{server.address}"
        assert_nothing_lost(measure(url, tmp_path / "study", *FEW, "--source", "127.0.0.2,127.0.0.3"))
        measure(url, tmp_path / "family", *FEW, "--source", "::1").assert_error(1, "source")
