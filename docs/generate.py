"""Write what is generated for readers: ``python docs/generate.py``.

A test (``tests/golden/test_docs.py``) fails when a file is no longer what this would write.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERBS = ("measure", "doctor", "report", "load")


def cli_page() -> str:
    """Reference of the command line: what ``--help`` says, verb by verb."""
    parts = ["# Command line\n\nGenerated from `hindmost --help` by `docs/generate.py`; do not edit.\n"]
    from hindmost.cli.group import GROUPS

    parts = [f"{verb} {name}" for verb, group in GROUPS.items() for name in group.SUBVERBS]
    for verb in ("", *VERBS, *GROUPS, *parts):
        command = " ".join(("hindmost", verb, "--help")).replace("  ", " ")
        title = f"## hindmost {verb}".rstrip()
        parts.append(f"{title}\n\n```console\n$ {command}\n{_said(verb.split())}\n```\n")
    return "\n".join(parts)


def _said(verb: Iterable[str]) -> str:
    environment = os.environ | {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    code = "import sys; from hindmost.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *verb, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def plan_schema() -> str:
    """JSON Schema of an instance's plan, as the engine knows it."""
    from hindmost import _engine

    return _engine.plan_schema() + "\n"


PAGES = {"docs/reference/cli.md": cli_page, "schemas/plan.schema.json": plan_schema}
"""The registry: a generated file is a function above and its name here."""


def main() -> int:
    """Write every file."""
    for name, make in PAGES.items():
        (ROOT / name).write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
