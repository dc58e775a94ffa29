"""Expect errors by class, code and fields; never by their sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from hindmost.cli import main
from hindmost.core.codes import CODES
from hindmost.errors import HindmostError


@contextmanager
def raises(
    kind: type[HindmostError], code: str, /, **fields: object
) -> Iterator[pytest.ExceptionInfo[HindmostError]]:
    """Expect an error of this class and code whose fields include these values."""
    with pytest.raises(kind) as caught:
        yield caught
    assert_error(caught.value, code, **fields)


def assert_error(error: HindmostError, code: str, /, **fields: object) -> None:
    """Assert an error's code, and those of its fields that are given."""
    assert code in CODES, f"{code} is not in hindmost.core.codes"
    assert error.code == code, f"{error.code}: {error.message}"
    assert {name: error.fields.get(name) for name in fields} == fields


def assert_refused(
    arguments: Sequence[str], capsys: pytest.CaptureFixture[str], exit_code: int, code: str, **fields: object
) -> None:
    """Run a command with ``--json`` and assert its exit code, its error's code, and these of its fields."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == exit_code
    document = json.loads(capsys.readouterr().out)
    assert code in CODES, f"{code} is not in hindmost.core.codes"
    assert document["code"] == code, document
    assert {name: document["fields"].get(name) for name in fields} == fields
