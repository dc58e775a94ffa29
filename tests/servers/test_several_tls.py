"""Several servers over TLS at once: each is asked for by its own name, and its own certificate is verified."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
import tls_targets
from certificates import issue
from measuring import Answer, ProcessTracker, hindmost, measure
from test_tls import BRIEFLY, FEW, attached, nginx, whole

HELD = {"by-name": "DNS:localhost", "by-address": "IP:127.0.0.1", "elsewhere": "DNS:elsewhere.example"}
"""Certificates, and the one name that each of them holds."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for each way to write the same host."""
    folder = tls_targets.place_certificates(tmp_path_factory.mktemp("several"))
    issue(folder, "server", *HELD, alternatives=HELD)
    return issue(folder, "stranger", ca="other")


def several(stack: ExitStack, place: Path, *certificates: str) -> list[str]:
    """Ports of servers, each with a certificate of its own, and a log of the names that they were asked for."""
    ports = []
    for one in certificates:
        own = nginx().replace("{here}/server.", f"{{here}}/{one}.").replace('"\n[tls]', f'-{one}"\n[tls]')
        own = own.replace(
            "access_log off;", f"log_format asked '<$ssl_server_name>'; access_log {{here}}/{one}.log asked;"
        )
        # It is probed here by whatever certificate it has: which one is the matter of the test.
        own = own.replace('ca = "ca.pem"', 'insecure = true\nsni = "begun.example"')
        ports.append(stack.enter_context(attached(place, own, "nginx")).rpartition(":")[2])
    return ports


def asked(place: Path, one: str) -> set[str]:
    """The names that nginx was asked for, since it began to serve."""
    return set((place / f"{one}.log").read_text().split()) - {"<begun.example>"}


@pytest.mark.nginx
def test_each_of_several_servers_is_verified_by_its_own_name_and_a_wrong_one_is_told_by_its_port(
    place: Path, tmp_path: Path, process_tracker: ProcessTracker
) -> None:
    with ExitStack() as stack:
        ports = several(stack, place, "by-name", "by-address", "elsewhere", "stranger")
        named, addressed, elsewhere, stranger = ports

        def measured(name: str, addresses: list[str], *more: str) -> Answer:
            url = f"https://{','.join(addresses)}"
            return measure(url, tmp_path / name, *FEW, "--ca", place / "ca.pem", *more)

        right = [f"localhost:{named}", f"127.0.0.1:{addressed}"]
        answer = measured("study", right, "--requests-per-connection", "10")
        whole(answer)
        found = answer.result["endpoints"]
        assert [one["address"] for one in found] == right
        assert all(one["counts"]["completed"] > 0 for one in found)
        looked = hindmost("host", "doctor", f"https://{','.join(right)}", "--ca", place / "ca.pem", *BRIEFLY)
        assert looked.code in (0, 5), looked.err
        # Whoever is named by an address is asked for no name (RFC 6066, 3).
        assert asked(place, "by-name") == {"<localhost>"}
        assert asked(place, "by-address") == {"<->"}
        # A session is taken up with the server that it was had with.
        secured_by = answer.result["connections"]
        assert secured_by["resumed_handshakes"] > secured_by["full_handshakes"], secured_by

        # A certificate for another name, of another CA, and for the host's name where its address is written.
        for port in (elsewhere, stranger, named):
            wrong = f"127.0.0.1:{port}"
            # As the first of two and as the second.
            both = [right[0], wrong] if port != named else [wrong, right[1]]
            refused = measured(f"wrong-{port}", both)
            refused.assert_error(1, "tls-certificate")
            assert wrong in refused.err
            assert not (tmp_path / f"wrong-{port}").exists()
