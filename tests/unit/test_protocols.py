"""The table of protocols, as Python reads it."""

from __future__ import annotations

import re
from typing import get_args

from rows import each_row

from hindmost.plan import protocols
from hindmost.plan.protocols import ENTRIES, PROTOCOLS


def test_the_names_that_pydantic_takes_are_those_of_the_table() -> None:
    assert get_args(protocols.Protocol) == PROTOCOLS == tuple(ENTRIES)


@each_row("entry", ENTRIES.values(), ids=lambda entry: entry.name)
def test_every_pattern_of_a_greeting_can_be_used(entry: protocols.Entry) -> None:
    for sign in entry.signs:
        re.compile(sign.encode())
    for ask in entry.greeting:
        ask.send.format(address="127.0.0.1:1", path="/")
        for answer in ask.answers:
            groups = re.compile(answer.pattern.encode()).groups
            assert groups == (answer.means != "serves"), answer
            told = {"address": "a", "path": "/", "reply": "r", "scheme": "http", "location": "/l"}
            answer.message.format(**told)
            answer.hint.format(**told)
        for version in ask.versions:
            assert re.compile(version.pattern.encode()).groups >= 1


def test_a_workload_for_want_of_another_is_of_the_protocols_kind() -> None:
    assert ENTRIES["redis"].mix.workload("/x") == {"kind": "key-value"}
    assert ENTRIES["http"].mix.workload("/x") == {"kind": "http", "paths": ["/x"]}
