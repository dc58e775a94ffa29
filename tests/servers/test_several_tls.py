"""Several TLS servers at once: each gets its own server name, and its own certificate is verified."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
import tls_targets
from certificates import issue
from measuring import Answer, ProcessTracker, hindmost, measure
from test_tls import BRIEFLY, FEW, assert_nothing_lost, nginx, running

ALTERNATIVES = {
    "by-name": "DNS:localhost",
    "by-address": "IP:127.0.0.1",
    "elsewhere": "DNS:elsewhere.example",
}
"""Certificates, and the one name that each contains."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for each way to write the same host."""
    folder = tls_targets.place_certificates(tmp_path_factory.mktemp("several"))
    issue(folder, "server", *ALTERNATIVES, alternatives=ALTERNATIVES)
    return issue(folder, "stranger", ca="other")


def start_servers(stack: ExitStack, place: Path, *certificates: str) -> list[str]:
    """Start a server per certificate, each with a log of requested server names; returns their ports."""
    ports = []
    for name in certificates:
        config = (
            nginx().replace("{here}/server.", f"{{here}}/{name}.").replace('"\n[tls]', f'-{name}"\n[tls]')
        )
        config = config.replace(
            "access_log off;", f"log_format asked '<$ssl_server_name>'; access_log {{here}}/{name}.log asked;"
        )
        # The fixture's own probe accepts any certificate; the test checks which one is used.
        config = config.replace('ca = "ca.pem"', 'insecure = true\nsni = "begun.example"')
        ports.append(stack.enter_context(running(place, config, "nginx")).rpartition(":")[2])
    return ports


def server_names(place: Path, certificate: str) -> set[str]:
    """The server names that clients requested from nginx since it became ready."""
    return set((place / f"{certificate}.log").read_text().split()) - {"<begun.example>"}


@pytest.mark.nginx
def test_each_server_is_verified_by_its_own_name_and_a_wrong_one_is_reported_with_its_port(
    place: Path, tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    with ExitStack() as stack:
        ports = start_servers(stack, place, "by-name", "by-address", "elsewhere", "stranger")
        by_name, by_address, elsewhere, stranger = ports

        def measure_https(name: str, addresses: list[str], *options: str) -> Answer:
            url = f"https://{','.join(addresses)}"
            return measure(url, tmp_path / name, *FEW, "--ca", place / "ca.pem", *options)

        right = [f"localhost:{by_name}", f"127.0.0.1:{by_address}"]
        answer = measure_https("study", right, "--requests-per-connection", "10")
        assert_nothing_lost(answer)
        endpoints = answer.result["endpoints"]
        assert [endpoint["address"] for endpoint in endpoints] == right
        assert all(endpoint["counts"]["completed"] > 0 for endpoint in endpoints)
        check = hindmost("host", "doctor", f"https://{','.join(right)}", "--ca", place / "ca.pem", *BRIEFLY)
        assert check.code in (0, 5), check.err
        # A client sends no server name for a numeric address (RFC 6066, 3).
        assert server_names(place, "by-name") == {"<localhost>"}
        assert server_names(place, "by-address") == {"<->"}
        # A session is resumed with the server that issued it.
        handshakes = answer.result["connections"]
        assert handshakes["resumed_handshakes"] > handshakes["full_handshakes"], handshakes

        # A certificate for another name, one of another CA, and one for the host's name at a numeric address.
        for port in (elsewhere, stranger, by_name):
            wrong = f"127.0.0.1:{port}"
            # As the first of two and as the second.
            both = [right[0], wrong] if port != by_name else [wrong, right[1]]
            failure = measure_https(f"wrong-{port}", both)
            failure.assert_error(1, "tls-certificate")
            assert wrong in failure.err
            assert not (tmp_path / f"wrong-{port}").exists()
