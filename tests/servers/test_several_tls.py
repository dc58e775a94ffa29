"""Several servers over TLS at once: each is asked for by its own name, and its own certificate is verified."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
import secured
from certificates import issue
from measuring import Answer, Household, hindmost, measure
from test_tls import BRIEFLY, FEW, MEMCACHED, REDIS, attached, nginx, whole

HELD = {"by-name": "DNS:localhost", "by-address": "IP:127.0.0.1", "elsewhere": "DNS:elsewhere.example"}
"""Certificates, and the one name that each of them holds."""
SERVERS = {
    "https": ("nginx", nginx()),
    "rediss": ("redis-server", REDIS.replace("client.", "server.")),
    "memcacheds": ("memcached", MEMCACHED),
}
CLIENT = {"rediss": ("--cert", "server.pem", "--key", "server.key")}
"""Who we are, where a server asks."""
ANEW = {"https": ("--requests-per-connection", "10")}
"""Where sessions are taken up again."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for each way to write the same host."""
    folder = secured.place(tmp_path_factory.mktemp("several"))
    issue(folder, "server", *HELD, held=HELD)
    return issue(folder, "stranger", ca="other")


def several(stack: ExitStack, place: Path, scheme: str, *certificates: str) -> list[str]:
    """Ports of servers, each with a certificate of its own, and a log of the names that they were asked for."""
    program, text = SERVERS[scheme]
    ports = []
    for one in certificates:
        own = text.replace("{here}/server.", f"{{here}}/{one}.").replace('"\n[tls]', f'-{one}"\n[tls]')
        own = own.replace(
            "access_log off;", f"log_format asked '<$ssl_server_name>'; access_log {{here}}/{one}.log asked;"
        )
        # It is probed here by whatever certificate it has: which one is the matter of the test.
        own = own.replace('ca = "ca.pem"', 'insecure = true\nsni = "begun.example"')
        ports.append(stack.enter_context(attached(place, own, program)).rpartition(":")[2])
    return ports


def asked(place: Path, one: str) -> set[str]:
    """The names that nginx was asked for, since it began to serve."""
    return set((place / f"{one}.log").read_text().split()) - {"<begun.example>"}


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param("https", marks=pytest.mark.nginx),
        pytest.param("rediss", marks=pytest.mark.redis),
        pytest.param("memcacheds", marks=pytest.mark.memcached),
    ],
)
def test_each_of_several_servers_is_verified_by_its_own_name_and_a_wrong_one_is_told_by_its_port(
    scheme: str, place: Path, tmp_path: Path, household: Household
) -> None:
    who = [place / word if "." in word else word for word in CLIENT.get(scheme, ())]
    with ExitStack() as stack:
        ports = several(stack, place, scheme, "by-name", "by-address", "elsewhere", "stranger")
        named, addressed, elsewhere, stranger = ports

        def measured(name: str, addresses: list[str], *more: str) -> Answer:
            trust = ("--ca", place / "ca.pem", *who, "--runs", "1")
            return measure(f"{scheme}://{','.join(addresses)}", tmp_path / name, *FEW, *trust, *more)

        right = [f"localhost:{named}", f"127.0.0.1:{addressed}"]
        answer = measured("study", right, *ANEW.get(scheme, ()))
        whole(answer)
        found = answer.result["endpoints"]
        assert [one["address"] for one in found] == right
        assert all(one["counts"]["done"] > 0 for one in found)
        looked = hindmost("doctor", f"{scheme}://{','.join(right)}", "--ca", place / "ca.pem", *who, *BRIEFLY)
        assert looked.code in (0, 5), looked.err
        secured_by = answer.result["connections"]
        if scheme == "https":
            # Whoever is named by an address is asked for no name (RFC 6066, 3).
            assert asked(place, "by-name") == {"<localhost>"}
            assert asked(place, "by-address") == {"<->"}
            # A session is taken up with the server that it was had with.
            assert secured_by["resumed_handshakes"] > secured_by["full_handshakes"], secured_by

        for number, (port, why) in enumerate(
            [
                (elsewhere, "it is for elsewhere.example"),
                (stranger, "not issued by a CA in"),
                (named, "localhost"),
            ]
        ):
            wrong = f"127.0.0.1:{port}"
            # As the first of two and as the second.
            both = [right[0], wrong] if port != named else [wrong, right[1]]
            refused = measured(f"wrong-{number}", both)
            refused.assert_one_clear_error(1, f"{scheme}://{wrong}: ", why)
            assert not (tmp_path / f"wrong-{number}").exists()
