"""Runs the simulators of the papers: Rust programs that read a JSON query and write a JSON answer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def simulate(crate: str, command: str, asked: dict[str, Any]) -> Any:  # noqa: ANN401 (any JSON)
    """Run `command` of a simulator and return its answer.

    Raises
    ------
    subprocess.CalledProcessError
        If the program cannot be built, or refuses the query; the reason is on stderr.
    """
    words = ["cargo", "run", "--release", "--locked", "--quiet", "--package", crate, "--", command]
    done = subprocess.run(
        words, cwd=ROOT, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)
