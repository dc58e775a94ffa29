"""An interruption is reported as such, even if other code wraps or swallows it."""

import sys
import time

import pytest

from hindmost.cli import app
from hindmost.core.exits import Exit


class SchemaError(Exception):
    """Like pydantic's error."""


def test_an_interruption_inside_a_validator_is_reported(monkeypatch, capsys):
    def raise_wrapped(*_: object, **__: object) -> int:
        raise SchemaError('Error building "model" validator:\n  KeyboardInterrupt: ')

    monkeypatch.setattr(app, "app", raise_wrapped)
    assert app.run(["host", "doctor"]) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_any_other_error_of_a_validator_is_not_hidden(monkeypatch):
    def raise_other(*_: object, **__: object) -> int:
        raise SchemaError("Unknown schema type")

    monkeypatch.setattr(app, "app", raise_other)
    with pytest.raises(SchemaError):
        app.run(["host", "doctor"])


class InterruptedDestructor:
    """Raises an interruption when it is destroyed."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interruption_that_a_destructor_swallows_is_repeated(monkeypatch, capsys):
    def work(*_: object, **__: object) -> int:
        InterruptedDestructor()
        time.sleep(60.0)  # ended by the repeated interruption
        return 0

    monkeypatch.setattr(app, "app", work)
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    assert app.run(["host", "doctor"]) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err
