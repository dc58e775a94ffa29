"""The table of protocols, as read by Python."""

from __future__ import annotations

import re
from typing import get_args

from rows import each_row

from hindmost.core.plan import protocols
from hindmost.core.plan.protocols import ENTRIES, PROTOCOLS


def test_pydantic_accepts_the_names_in_the_table() -> None:
    assert get_args(protocols.Protocol) == PROTOCOLS == tuple(ENTRIES)


@each_row("entry", ENTRIES.values(), ids=lambda entry: entry.name)
def test_every_pattern_of_a_greeting_compiles(entry: protocols.Entry) -> None:
    for sign in entry.signs:
        re.compile(sign.encode())
    for ask in entry.greeting:
        ask.send.format(address="127.0.0.1:1", path="/")
        for answer in ask.answers:
            groups = re.compile(answer.pattern.encode()).groups
            assert groups == (answer.means != "serves"), answer
            fields = {"address": "a", "path": "/", "reply": "r", "scheme": "http", "location": "/l"}
            answer.message.format(**fields)
            answer.hint.format(**fields)
        for version in ask.versions:
            assert re.compile(version.pattern.encode()).groups >= 1


def test_the_default_workload_suits_the_protocol() -> None:
    assert ENTRIES["redis"].mix.workload("/x") == {"kind": "key-value"}
    assert ENTRIES["http"].mix.workload("/x") == {"kind": "http", "paths": ["/x"]}
