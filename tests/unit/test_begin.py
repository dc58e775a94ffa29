"""How a study begins: whether the host is fit is asked again before it is called unfit."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from hindmost import _engine
from hindmost.studies import begin

UNFIT, FIT = (json.dumps({"findings": [{"mark": mark}], "noise": {}}) for mark in ("unfit", "fine"))


@pytest.mark.parametrize(
    ("seen", "looks", "mark"),
    [((FIT,), 1, "fine"), ((UNFIT, FIT), 2, "fine"), ((UNFIT, UNFIT, UNFIT, FIT), 3, "unfit")],
    ids=["fit", "a last breath", "unfit each time"],
)
def test_a_host_is_unfit_only_if_it_looks_so_each_time(
    seen: tuple[str, ...], looks: int, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Iterator[str] = iter(seen)
    pauses: list[float] = []
    monkeypatch.setattr(_engine, "doctor", lambda *_: next(answers))
    monkeypatch.setattr(begin.time, "sleep", pauses.append)
    host = begin._diagnosis()
    assert host["findings"][0] == {"mark": mark}
    assert len(pauses) == looks - 1
