"""Servers over TLS, through sockets of other kinds, and from addresses of our choice: started, probed, measured."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import secured
from certificates import issue
from measuring import Answer, Household, assert_counts_close, hindmost, measure, need, running

from hindmost.plan.login import Login
from hindmost.targets import load_target_file

BRIEFLY = ("--spin", "10ms", "--json")
FEW = ("--clients", "1", "--connections", "4", "--rate", "400", "--timeout", "1s")
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
APACHE = """
name = "apache-tls"
protocol = "http"
command = ["apache2", "-X", "-d", "{dir}", "-f", "{dir}/apache.conf"]
package = "apache2-bin"
[stop]
signal = "TERM"
[tls]
ca = "ca.pem"
[files]
"index.html" = "hello"
"apache.conf" = \"\"\"
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
Listen {address} https
ServerName localhost
PidFile {dir}/pid
ErrorLog {dir}/error.log
DocumentRoot {dir}
MaxKeepAliveRequests 0
SSLEngine on
SSLCertificateFile {here}/server.pem
SSLCertificateKeyFile {here}/server.key
DirectoryIndex index.html
\"\"\"
"""
HAPROXY = """
name = "haproxy-tls"
protocol = "http"
command = ["haproxy", "-db", "-f", "{dir}/haproxy.cfg"]
package = "haproxy"
[tls]
ca = "ca.pem"
[files]
"haproxy.cfg" = \"\"\"
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 5s
frontend secured
  bind {address} ssl crt {here}/both.pem
  http-request return status 200 content-type text/plain string hello
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
ON_SOCKETS = {
    "memcached": """
name = "memcached"
protocol = "memcached"
socket = "{dir}/memcached.sock"
command = ["memcached", "-s", "{socket}", "-a", "666", "-u", "root", "-t", "1"]
""",
    "redis": """
name = "redis"
protocol = "redis"
socket = "{dir}/redis.sock"
command = ["redis-server", "--port", "0", "--unixsocket", "{socket}", "--save", "", "--dir", "{dir}"]
""",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with certificates that servers may read which are not root."""
    secured.place(tmp_path)
    both = (tmp_path / "server.pem").read_text() + (tmp_path / "server.key").read_text()
    (tmp_path / "both.pem").write_text(both)
    return tmp_path


def nginx(keeps: int = 1_000_000, more: str = "") -> str:
    user = "user root;" if os.getuid() == 0 else ""
    return NGINX.replace("USER", user).replace("KEEPS", str(keeps)).replace("MORE", more)


def written(folder: Path, text: str, program: str) -> Path:
    if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip(f"{program} is not installed")
    file = folder / "target.toml"
    file.write_text(text)
    return file


def whole(answer: Answer) -> None:
    """Measured, and nothing lost."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    counts = answer.result["counts"]
    assert (counts["errors"], counts["misses"]) == (0, 0), counts
    assert counts["done"] > 0


@pytest.mark.parametrize("name", ["nginx", "apache2", "haproxy", "redis-server", "memcached"])
def test_a_server_over_tls_is_started_probed_and_measured(
    name: str, place: Path, household: Household
) -> None:
    texts = {
        "nginx": nginx(),
        "apache2": APACHE,
        "haproxy": HAPROXY,
        "redis-server": REDIS,
        "memcached": MEMCACHED,
    }
    answer = measure(str(written(place, texts[name], name)), place / "study", *FEW)
    whole(answer)
    found = answer.result["connections"]
    assert found["full_handshakes"] + found["resumed_handshakes"] == found["all"] > 0


@pytest.mark.nginx
@pytest.mark.parametrize("resumption", ["on", "off"])
def test_handshakes_are_told_apart_from_connecting_and_from_each_other(
    resumption: str, place: Path, household: Household
) -> None:
    target = written(place, nginx(keeps=1), "nginx")
    answer = measure(
        str(target), place / "study", *FEW[:-4], "--rate", "50", "--timeout", "1s", "--resumption", resumption
    )
    whole(answer)
    found = answer.result["connections"]
    assert (found["resumed_handshakes"] > found["full_handshakes"]) == (resumption == "on"), found
    connect, handshake = answer.result["connect_us"], answer.result["handshake_us"]
    assert connect["p50"]["value"] > 0
    assert handshake["p50"]["value"] > 0


@contextmanager
def attached(place: Path, text: str, program: str) -> Iterator[str]:
    with running(load_target_file(written(place, text, program))) as server:
        yield server.address


@pytest.mark.nginx
def test_a_running_server_is_measured_by_its_url_and_mistakes_are_told(
    place: Path, household: Household
) -> None:
    issue(place, ca="other")
    with attached(place, nginx(), "nginx") as address:
        url, ca = f"https://{address}/", place / "ca.pem"
        whole(measure(url, place / "study", *FEW, "--ca", ca))
        for number, (words, code, parts) in enumerate(
            [
                (("--ca", place / "other.pem"), 1, [url[:-1], "not issued by a CA in", "other.pem"]),
                (("--ca", place / "absent.pem"), 2, ["absent.pem", "No such file"]),
                (("--ca", ca, "--sni", "elsewhere.example"), 1, ["elsewhere.example", "it is for localhost"]),
                (
                    ("--ca", ca, "--cert", place / "client.pem", "--key", place / "server.key"),
                    2,
                    ["is not that of the certificate", "client.pem"],
                ),
                (("--ca", ca, "--cert", place / "client.pem"), 2, ["target.tls.key"]),
                (("--ca", ca, "--verify-wire"), 2, ["--verify-wire", "TLS"]),
                (("--ca", ca, "--io", "io_uring"), 2, ["io", "TLS"]),
            ]
        ):
            refused = measure(url, place / f"no-{number}", *FEW, *words)
            refused.assert_one_clear_error(code, *map(str, parts))
        whole(measure(url, place / "unverified", *FEW, "--insecure"))
        plain = measure(f"http://{address}/", place / "plain", *FEW, "--ca", ca)
        plain.assert_one_clear_error(2, "--ca", "https://")
        looked = hindmost("doctor", url, "--ca", ca, *BRIEFLY)
        assert looked.code in (0, 5), looked.err
        assert looked.result["schema"] == "hindmost.doctor/1"
        hindmost("doctor", url, *BRIEFLY).assert_one_clear_error(1, url[:-1], "--ca FILE")
        hindmost("doctor", "--ca", ca, *BRIEFLY).assert_one_clear_error(2, "--ca", "hindmost doctor TARGET")
        spoken = measure(f"http://{address}/", place / "spoken", *FEW)
        assert spoken.code == 1, spoken.err
    with attached(place, nginx().replace(" ssl;", ";").replace("[tls]\nca", "#"), "nginx") as address:
        answer = measure(f"https://{address}/", place / "no-tls", *FEW, "--ca", ca)
        answer.assert_one_clear_error(1, "does not speak TLS", "HTTP/1.1 400")


def test_a_server_that_wants_a_client_certificate_says_so(place: Path, household: Household) -> None:
    with attached(place, REDIS, "redis-server") as address:
        refused = measure(f"rediss://{address}", place / "study", *FEW, "--ca", place / "ca.pem")
        refused.assert_one_clear_error(1, "certificate required")


SQL = """
{"kind": "sql", "statements": [
  {"name": "simple", "sql": "SELECT value FROM items WHERE id = {{int:1..10000}}"},
  {"name": "prepared", "sql": "SELECT value FROM items WHERE id = $1", "parameters": ["{{int:1..10000}}"]}
]}
"""


CERTIFIED = {
    'auth = "trust"': 'auth = "scram-sha-256"',
    "-c ssl_key_file": "-c ssl_ca_file={here}/ca.pem -c ssl_key_file",
    "cp {here}/server.key": "sed -i '1i hostssl all client all scram-sha-256 clientcert=verify-full' data/pg_hba.conf\n"
    "cp {here}/server.key",
    "create table": "create role client login password 'hindmost' in role pg_read_all_data;\ncreate table",
}
"""PostgreSQL lets user `client` in by a password and a certificate with that name, all others by a password."""


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A PostgreSQL with TLS alone: the folder of its certificates, and its address."""
    need("postgresql")
    folder = secured.place(tmp_path_factory.mktemp("postgresql"))
    issue(folder, "client-of-another", ca="other")
    (folder / "sql.json").write_text(SQL)
    file = secured.secured(secured.POSTGRESQL, folder, CERTIFIED)
    who = Login(user="hindmost", password="hindmost", database="postgres")
    with running(load_target_file(file).model_copy(update={"login": who})) as server:
        yield folder, server.address


@pytest.mark.postgresql
def test_postgresql_is_asked_for_tls_and_what_it_answers_is_told(
    certified: tuple[Path, str], tmp_path: Path, household: Household
) -> None:
    folder, address = certified
    behind = f"://hindmost:hindmost@{address}/postgres"
    url, trust = f"postgresqls{behind}", ("--ca", folder / "ca.pem")
    answer = measure(url, tmp_path / "study", *FEW, *trust, "--workload", folder / "sql.json")
    whole(answer)
    assert set(answer.result["by_kind"]) == {"simple", "prepared"}
    found = answer.result["connections"]
    assert found["full_handshakes"] + found["resumed_handshakes"] == found["all"] > 0
    other = measure(url, tmp_path / "other", *FEW, "--ca", folder / "other.pem")
    other.assert_one_clear_error(1, address, "was not issued by a CA in", "other.pem")
    plain = measure(f"postgresql{behind}", tmp_path / "plain", *FEW)
    plain.assert_one_clear_error(1, "no encryption")


@pytest.mark.postgresql
def test_postgresql_lets_a_user_in_by_certificate_and_says_what_is_wrong_with_another(
    certified: tuple[Path, str], tmp_path: Path, household: Household
) -> None:
    folder, address = certified
    url = f"postgresqls://client:hindmost@{address}/postgres"
    trust = ("--ca", folder / "ca.pem")

    def asked(name: str) -> Answer:
        own = ("--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key") if name else ()
        return measure(url, tmp_path / f"as-{name}", *FEW, *trust, *own, "--runs", "1")

    whole(asked("client"))
    asked("").assert_one_clear_error(
        1, address, "28000", "valid client certificate", "--cert FILE --key FILE"
    )
    # Its name is not the user's, which PostgreSQL calls a wrong password.
    asked("server").assert_one_clear_error(1, address, "28P01", "clientcert=verify-full", "server.pem")
    asked("client-of-another").assert_one_clear_error(1, address, "unknown ca", "--cert FILE")


@pytest.mark.parametrize("name", ["memcached", "redis"])
def test_a_unix_socket_is_measured_by_its_file_and_by_its_path(
    name: str, tmp_path: Path, household: Household
) -> None:
    need(name)
    target = tmp_path / "target.toml"
    target.write_text(ON_SOCKETS[name])
    whole(measure(str(target), tmp_path / "managed", *FEW))
    with running(load_target_file(target)) as server:
        path = server.address.removeprefix("unix:")
        answer = measure(f"{name}+unix://{path}", tmp_path / "attached", *FEW)
        whole(answer)
        assert answer.result["target"]["address"] == f"unix:{path}"


@pytest.mark.memcached
def test_connections_come_from_the_addresses_that_were_named(tmp_path: Path, household: Household) -> None:
    need("memcached")
    target = tmp_path / "target.toml"
    text = ON_SOCKETS["memcached"].replace('"-s", "{socket}", "-a", "666"', '"-p", "{port}", "-l", "{host}"')
    target.write_text("\n".join(line for line in text.splitlines() if not line.startswith("socket")))
    sources = ("--source", "127.0.0.2,127.0.0.3")
    whole(measure(str(target), tmp_path / "study", *FEW, *sources))
    answer = measure(str(target), tmp_path / "no", *FEW, "--source", "192.0.2.1")
    answer.assert_one_clear_error(2, "192.0.2.1", "no address of this host")
    answer = measure(str(target), tmp_path / "twice", *FEW, "--source", "127.0.0.2,127.0.0.2")
    answer.assert_one_clear_error(2, "127.0.0.2 twice")
    answer = measure(str(target), tmp_path / "family", *FEW, "--source", "::1")
    answer.assert_one_clear_error(1, "::1", "IPv6")
