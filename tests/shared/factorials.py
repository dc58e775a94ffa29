"""Small factorial studies of a server with planted switches."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from measuring import finish, start

from hindmost.core.store.schema import schemas

ROOT = Path(__file__).parents[2]
PATIENCE_S = 380.0
"""Runs that a busy host distorts are repeated, three times at most."""
PLANTED = ROOT / "examples" / "attribution" / "planted-server.toml"
HEAD = """
name = "test"
target = "{target}"
quantiles = "50,95"

[measure]
connections = 4
workload = "few.json"
duration = "{duration}"
warmup = "100ms"

"""


def factor(name, *levels, option="", knob=""):
    """A factor of a study file: levels of a target option (by default the one with its name) or of a knob."""
    source = f'knob = "{knob}"' if knob else f'option = "{option or name}"'
    return f'[[factor]]\nname = "{name}"\n{source}\nlevels = {json.dumps(levels)}\n\n'


def load(name, rate):
    """A load of a study file."""
    return f'[[load]]\nname = "{name}"\nrate = "{rate}"\n\n'


BODY = factor("body", 100, 300, option="body_us")
HOLD = factor("hold", 200, 5, option="hold_us")


def study_file(
    folder, *parts, target=PLANTED, design='[design]\nblocks = "3"\n', confirm="skip = true", duration="400ms"
):
    file = folder / "study.toml"
    (folder / "few.json").write_text('{"kind": "key-value", "keys": 100}')  # storing each takes a service
    head = HEAD.format(target=target, duration=duration)
    file.write_text("".join([head, load("low", "500"), *parts, design, f"[confirm]\n{confirm}\n"]))
    return file


def attribute(file, out, *options):
    return finish(start("attribute", file, *options, "--json", "--out", out), out, PATIENCE_S)


def read(answer):
    assert answer.out, answer.err
    document = json.loads(answer.out)
    jsonschema.Draft202012Validator(schemas()["attribution"]).validate(document)
    return document


def effect(document, term, coding="average", label="p50"):
    effects = document["loads"][0]["quantiles"][label][coding]
    return next(effect for effect in effects if effect["term"] == term)
