"""Certificates for tests, made by openssl: a CA of our own and what it issued."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

_NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"


def _openssl(*arguments: str | Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def issue(folder: Path, *names: str, ca: str = "ca", held: Mapping[str, str] = {}) -> Path:
    """Make ``CA.pem``, and of each name ``NAME.pem`` with ``NAME.key``, good for two days; returns `folder`.

    Each holds all names of loopback, or those that `held` has for it, as openssl writes them.

    All may be read by everybody: servers that give up root's rights before they read them are among those that
    get them.
    """
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    authority = (folder / f"{ca}.pem", folder / f"{ca}.key")
    common = f"/CN=the CA {ca} of a test"
    _openssl("req", "-x509", *new, "-keyout", authority[1], "-out", authority[0], "-subj", common)
    for name in names:
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        signed = ("-CA", authority[0], "-CAkey", authority[1])
        signed += ("-addext", f"subjectAltName={held.get(name, _NAMES)}")
        usual = ("-addext", "basicConstraints=critical,CA:FALSE")
        _openssl(
            *("req", "-x509", *new, *signed, *usual),
            *("-keyout", key, "-out", certificate, "-subj", f"/CN={name}"),
        )
        key.chmod(0o644)
    return folder
