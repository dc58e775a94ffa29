"""Targets of other tests with TLS, and certificates that their servers can read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from certificates import issue

import hindmost.core.targets

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
POSTGRESQL = Path(hindmost.core.targets.__file__).parent / "presets" / "postgresql.toml"
GRPC = EXAMPLES / "grpc-python.toml"
_CREDENTIALS = "grpc.ssl_server_credentials([(open('{here}/server.key', 'rb').read(), open('{here}/server.pem', 'rb').read())])"
_CHANGES: Mapping[Path, Mapping[str, str]] = {
    # PostgreSQL refuses a key that others may read. With hostssl it accepts no connection without TLS.
    POSTGRESQL: {
        "exec postgres": "sed -i 's/^host /hostssl /' data/pg_hba.conf\n"
        "cp {here}/server.key {dir}/server.key; chmod 600 {dir}/server.key\nexec postgres",
        "-c autovacuum=off": "-c autovacuum=off -c ssl=on -c ssl_cert_file={here}/server.pem"
        " -c ssl_key_file={dir}/server.key",
    },
    GRPC: {"add_insecure_port(sys.argv[1])": f"add_secure_port(sys.argv[1], {_CREDENTIALS})"},
}


def place_certificates(folder: Path) -> Path:
    """Put certificates of a CA, a server and a client into `folder`, readable by servers that are not root."""
    for above in (folder, *folder.parents):
        if above.owner() == folder.owner() and above != Path("/tmp"):
            above.chmod(0o755)
    return issue(folder, "server", "client")


def add_tls(target: Path, folder: Path, changes: Mapping[str, str] = {}) -> Path:
    """Write the target with TLS into `folder`, next to its certificates; `changes` replace more of its text."""
    text = target.read_text()
    for old, new in {**_CHANGES[target], **changes}.items():
        assert old in text, f"{target.name} no longer contains {old!r}"
        text = text.replace(old, new)
    file = folder / target.name
    file.write_text(f'{text}\n[tls]\nca = "ca.pem"\n')
    return file
