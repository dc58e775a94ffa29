"""Write what is generated for readers: ``python docs/generate.py``.

A test (``tests/golden/test_docs.py``) fails when a file is no longer what this would write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def cli_page() -> str:
    """Reference of the command line: what ``--help`` says, verb by verb."""
    parts = ["# Command line\n\nGenerated from `hindmost --help` by `docs/generate.py`; do not edit.\n"]
    from hindmost.cli.verbs import every

    verbs = [(), *every()]
    for words, said in zip(verbs, _said(verbs), strict=True):
        command = " ".join(("hindmost", *words))
        parts.append(f"## {command}\n\n```console\n$ {command} --help\n{said}\n```\n")
    return "\n".join(parts)


SPEAKER = """
import contextlib, io, json, sys
from hindmost.cli import main
for words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main([*words, "--help"]) == 0
    print(json.dumps(said.getvalue()))
"""


def _said(verbs: Sequence[Sequence[str]]) -> list[str]:
    """Helps of all verbs, of one process with a terminal that is the same everywhere."""
    environment = os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SPEAKER],
        input=json.dumps(verbs),
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    helps = map(json.loads, done.stdout.splitlines())
    return ["\n".join(line.rstrip() for line in one.strip().splitlines()) for one in helps]


def knobs_page() -> str:
    """Reference of all knobs: what a study file writes for each kind, and every setting of a host."""
    from hindmost import _engine
    from hindmost.knobs import KINDS

    kinds = ["| kind | sets | in a study file | levels |", "| --- | --- | --- | --- |"]
    keys = ["| kind | key | means |", "| --- | --- | --- |"]
    for name, kind in KINDS.items():
        kinds.append(f"| {name} | {kind.about} | `{kind.example}` | {kind.levels} |")
        keys += [f"| {name} | `{key}` | {about} |" for key, (_, about) in kind.keys.items()]
    hosts = [
        "| knob | sets | its files; `*`: all take the value, `@`: each is a knob |",
        "| --- | --- | --- |",
    ]
    with tempfile.TemporaryDirectory() as nothing:  # a host that has none: each row says where it would be
        for knob in json.loads(_engine.knobs(nothing, nothing)):
            files = knob["missing"].removeprefix("there is no ").split(": ")[0]
            at = "@DEVICE" if "@" in files else ""
            hosts.append(f"| `{knob['name']}{at}` | {knob['about']} | `{files}` |")
    return _KNOBS.format(kinds="\n".join(kinds), keys="\n".join(keys), hosts="\n".join(hosts))


_KNOBS = """\
# Knobs

Generated from `python/hindmost/knobs/registry.py` and `crates/knobs/src/catalogue` by
`docs/generate.py`;
do not edit. How to use them: [set knobs](../guides/set-knobs.md).

## Kinds

A factor of a study file has a name, levels, and exactly one of these keys:

{kinds}

Further keys:

{keys}

## Settings of the host

`hindmost knobs list --all` says which of them this host has, what they are set to, and why others are absent.
`DEVICE` is an interface, an interrupt, an idle state or a disk: `rps@eth0`. Sets of processors may be written
as `all`, `node` (those of the device's node) and `one` (the first of those); with `all` and `node`, each of
an interface's interrupts gets one processor, in turn, over the nodes. What lies in `ethtool/` has no file: it
is what ethtool(8) shows.

{hosts}
"""


def plan_schema() -> str:
    """JSON Schema of an instance's plan, as the engine knows it."""
    from hindmost import _engine

    return _engine.plan_schema() + "\n"


def engine_types() -> str:
    """Python's types of what Rust writes."""
    sys.path.insert(0, str(Path(__file__).parent))
    from engine_types import engine_types as written

    return written()


def workload_schema() -> str:
    """JSON Schema of a workload file."""
    sys.path.insert(0, str(Path(__file__).parent))
    from workload_page import workload_schema as written

    return written()


def schedules_figure() -> str:
    """The shapes that ``--schedule`` knows by name, drawn."""
    sys.path.insert(0, str(Path(__file__).parent))
    from schedules_figure import schedules_figure as drawn

    return drawn()


def workload_page() -> str:
    """Reference of workload files."""
    sys.path.insert(0, str(Path(__file__).parent))
    from workload_page import workload_page as written

    return written()


PAGES = {
    "docs/reference/cli.md": cli_page,
    "docs/reference/knobs.md": knobs_page,
    "docs/reference/workload.md": workload_page,
    "docs/images/schedules.svg": schedules_figure,
    "schemas/workload.schema.json": workload_schema,
    "schemas/plan.schema.json": plan_schema,
    "python/hindmost/store/engine.py": engine_types,
}
"""The registry: a generated file is a function above and its name here."""


def main() -> int:
    """Write every file."""
    for name, make in PAGES.items():
        (ROOT / name).write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
