"""How a study begins: an unfit host is checked again before it is reported as unfit."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from rows import each_row

from hindmost import _engine
from hindmost.core.study import begin
from hindmost.core.targets import parse_target

UNFIT, FIT = (json.dumps({"findings": [{"mark": mark}], "noise": {}}) for mark in ("unfit", "fine"))


@pytest.mark.parametrize(
    ("reports", "checks", "mark"),
    [((FIT,), 1, "fine"), ((UNFIT, FIT), 2, "fine"), ((UNFIT, UNFIT, UNFIT, FIT), 3, "unfit")],
    ids=["fit", "unfit once", "unfit each time"],
)
def test_a_host_is_unfit_only_if_every_check_says_so(
    reports: tuple[str, ...], checks: int, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Iterator[str] = iter(reports)
    pauses: list[float] = []
    monkeypatch.setattr(_engine, "doctor", lambda *_: next(answers))
    monkeypatch.setattr(begin.time, "sleep", pauses.append)
    host = begin._diagnosis(begin.LOOKS)
    assert host["findings"][0] == {"mark": mark}
    assert len(pauses) == checks - 1


@each_row(
    ("target", "name"),
    [
        ("memcached://127.0.0.1:11211", "127.0.0.1-11211"),
        ("http://127.0.0.1:8080/a/b.html", "127.0.0.1-8080"),
        ("redis://[::1]", "1-6379"),
        ("memcached?connections=64", "memcached"),
    ],
)
def test_the_folder_name_has_the_address_and_the_port(target: str, name: str) -> None:
    assert begin.folder_name(parse_target(target)) == name
