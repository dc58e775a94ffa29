"""An interruption is told as one, whatever wraps or swallows it."""

import sys
import time

import pytest

from hindmost.cli import app
from hindmost.exits import Exit


class SchemaError(Exception):
    """As pydantic's."""


def test_an_interruption_within_a_validator_is_an_interruption(monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> int:
        raise SchemaError('Error building "model" validator:\n  KeyboardInterrupt: ')

    monkeypatch.setattr(app, "app", interrupted)
    assert app.run(["host", "doctor"]) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_any_other_error_of_a_validator_is_not_hidden(monkeypatch):
    def broken(*_: object, **__: object) -> int:
        raise SchemaError("Unknown schema type")

    monkeypatch.setattr(app, "app", broken)
    with pytest.raises(SchemaError):
        app.run(["host", "doctor"])


class Careless:
    """Interrupted while it is put away."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interruption_that_a_destructor_swallows_comes_again(monkeypatch, capsys):
    def work(*_: object, **__: object) -> int:
        Careless()
        time.sleep(60.0)  # ended by what comes again
        return 0

    monkeypatch.setattr(app, "app", work)
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    assert app.run(["host", "doctor"]) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err
