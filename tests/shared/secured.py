"""Targets of other tests with TLS put before them, and certificates that their servers may read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from certificates import issue

import hindmost.targets

EXAMPLES = Path(__file__).parents[2] / "examples" / "targets"
POSTGRESQL = Path(hindmost.targets.__file__).parent / "presets" / "postgresql.toml"
GRPC = EXAMPLES / "grpc-python.toml"
_CREDENTIALS = "grpc.ssl_server_credentials([(open('{here}/server.key', 'rb').read(), open('{here}/server.pem', 'rb').read())])"
_CHANGES: Mapping[Path, Mapping[str, str]] = {
    # The server reads no key that others may read, and lets nobody in without TLS.
    POSTGRESQL: {
        "exec postgres": "sed -i 's/^host /hostssl /' data/pg_hba.conf\n"
        "cp {here}/server.key {dir}/server.key; chmod 600 {dir}/server.key\nexec postgres",
        "-c autovacuum=off": "-c autovacuum=off -c ssl=on -c ssl_cert_file={here}/server.pem"
        " -c ssl_key_file={dir}/server.key",
    },
    GRPC: {"add_insecure_port(sys.argv[1])": f"add_secure_port(sys.argv[1], {_CREDENTIALS})"},
}


def place(folder: Path) -> Path:
    """Put certificates of a CA, a server and a client into `folder`, for servers that are not root as well."""
    for above in (folder, *folder.parents):
        if above.owner() == folder.owner() and above != Path("/tmp"):
            above.chmod(0o755)
    return issue(folder, "server", "client")


def secured(target: Path, folder: Path, changes: Mapping[str, str] = {}) -> Path:
    """The same target over TLS as a file in `folder`, where its certificates are; `changes` more of its text."""
    text = target.read_text()
    for old, new in {**_CHANGES[target], **changes}.items():
        assert old in text, f"{target.name} has no {old!r} any more"
        text = text.replace(old, new)
    file = folder / target.name
    file.write_text(f'{text}\n[tls]\nca = "ca.pem"\n')
    return file
