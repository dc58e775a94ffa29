"""Secrets of a plan: documents contain references, and clients get the values."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.core.plan import secrets
from hindmost.errors import UsageError

SECRET = "s3cret-words"


def test_a_document_has_references_to_secrets_and_a_client_gets_the_values():
    workload = {
        "kind": "http",
        "headers": {"Authorization": f"Bearer {SECRET}", "Accept": "text/plain"},
        "requests": [{"headers": {"cookie": f"session={SECRET}; a=b", "X-Api-Key": SECRET}}, {"path": "/x"}],
    }
    stored = secrets.conceal(workload)
    assert SECRET not in str(stored)
    assert stored["headers"]["Authorization"].startswith("Bearer given:Authorization-")
    assert stored["headers"]["Accept"] == "text/plain"
    assert secrets.reveal(stored) == workload
    assert secrets.conceal(stored) == stored
    assert secrets.conceal(workload) == stored, "equal secrets have equal references"


def test_references_to_variables_and_files_are_resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TOKEN_OF_TEST", SECRET)
    (tmp_path / "key").write_text(f"{SECRET}\nmore")
    headers = {"Authorization": "Bearer env:TOKEN_OF_TEST", "X-Tenant": f"file:{tmp_path}/key"}
    assert secrets.conceal_headers(headers) == headers
    secrets.trust(headers)
    assert secrets.reveal_headers(headers) == {"Authorization": f"Bearer {SECRET}", "X-Tenant": SECRET}


def test_a_template_field_is_not_a_secret():
    headers = {"Authorization": "Bearer {{data.token}}"}
    assert secrets.conceal_headers(headers) == headers


@each_row(
    ("reference", "code", "fields"),
    [
        ("env:NOT_SET_AT_ALL", "unset-variable", {"name": "NOT_SET_AT_ALL"}),
        ("file:/not/there", "no-such-file", {"path": "/not/there"}),
        ("given:Authorization-999", "secret-not-stored", {}),
    ],
)
def test_an_unresolvable_reference_is_refused_with_its_header(reference: str, code: str, fields: dict):
    secrets.trust(reference)
    with raises(UsageError, code, field="header Authorization", **fields):
        secrets.reveal_headers({"Authorization": reference})
