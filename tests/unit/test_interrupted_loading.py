"""An interruption while modules load is told as one, in whatever error a library wraps it."""

import pytest

from hindmost.cli import app
from hindmost.exits import Exit


class SchemaError(Exception):
    """As pydantic's."""


def test_an_interruption_within_a_validator_is_an_interruption(monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> int:
        raise SchemaError('Error building "model" validator:\n  KeyboardInterrupt: ')

    monkeypatch.setattr(app, "app", interrupted)
    assert app.run(["doctor"]) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_any_other_error_of_a_validator_is_not_hidden(monkeypatch):
    def broken(*_: object, **__: object) -> int:
        raise SchemaError("Unknown schema type")

    monkeypatch.setattr(app, "app", broken)
    with pytest.raises(SchemaError):
        app.run(["doctor"])
