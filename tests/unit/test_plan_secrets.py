"""Secrets of a plan: documents hold where they are found, clients get the words."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.errors import UsageError
from hindmost.plan import secrets

WORDS = "s3cret-words"


def test_a_document_holds_no_words_of_a_secret_and_an_client_gets_them():
    written = {
        "kind": "http",
        "headers": {"Authorization": f"Bearer {WORDS}", "Accept": "text/plain"},
        "requests": [{"headers": {"cookie": f"session={WORDS}; a=b", "X-Api-Key": WORDS}}, {"path": "/x"}],
    }
    stored = secrets.conceal(written)
    assert WORDS not in str(stored)
    assert stored["headers"]["Authorization"].startswith("Bearer given:Authorization-")
    assert stored["headers"]["Accept"] == "text/plain"
    assert secrets.reveal(stored) == written
    assert secrets.conceal(stored) == stored
    assert secrets.conceal(written) == stored, "the same words have the same reference"


def test_variables_and_files_are_looked_up_wherever_they_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("TOKEN_OF_TEST", WORDS)
    (tmp_path / "key").write_text(f"{WORDS}\nmore")
    headers = {"Authorization": "Bearer env:TOKEN_OF_TEST", "X-Tenant": f"file:{tmp_path}/key"}
    assert secrets.conceal_headers(headers) == headers
    secrets.trust(headers)
    assert secrets.reveal_headers(headers) == {"Authorization": f"Bearer {WORDS}", "X-Tenant": WORDS}


def test_a_field_of_a_template_is_no_secret():
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
def test_a_reference_that_leads_nowhere_is_refused_with_its_header(reference: str, code: str, fields: dict):
    secrets.trust(reference)
    with raises(UsageError, code, field="header Authorization", **fields):
        secrets.reveal_headers({"Authorization": reference})
