"""Certificates for tests, made by openssl: a test CA and the certificates it issued."""

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


def issue(folder: Path, *names: str, ca: str = "ca", alternatives: Mapping[str, str] = {}) -> Path:
    """Make ``CA.pem``, and for each name ``NAME.pem`` with ``NAME.key``, valid for two days; returns `folder`.

    Each certificate has all names of the loopback, or the subject alternative names in `alternatives`, in openssl's
    syntax. All files are readable by everyone, because some servers drop root privileges before they read them.
    """
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    authority = (folder / f"{ca}.pem", folder / f"{ca}.key")
    common = f"/CN=the CA {ca} of a test"
    _openssl("req", "-x509", *new, "-keyout", authority[1], "-out", authority[0], "-subj", common)
    for name in names:
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        signing = ("-CA", authority[0], "-CAkey", authority[1])
        signing += ("-addext", f"subjectAltName={alternatives.get(name, _NAMES)}")
        leaf = ("-addext", "basicConstraints=critical,CA:FALSE")
        _openssl(
            *("req", "-x509", *new, *signing, *leaf),
            *("-keyout", key, "-out", certificate, "-subj", f"/CN={name}"),
        )
        key.chmod(0o644)
    return folder
