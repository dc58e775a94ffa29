"""Parts that tables in the documentation share: the machine that was measured, and their place."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe_host() -> str:
    """Return processors and kernel of this machine."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{os.cpu_count()} processors ({model}), Linux {platform.release().partition('-')[0]}"


def between_marks(document: str, name: str, tables: str) -> str:
    r"""Replace the text between the marks of a document.

    Examples
    --------
    >>> print(between_marks("Before.\n<!-- PEERS -->\nold\n<!-- /PEERS -->\nAfter.", "PEERS", "new"))
    Before.
    <!-- PEERS -->
    new
    <!-- /PEERS -->
    After.
    """
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = document.split(first)
    _, after = rest.split(last)
    return f"{before}{first}\n{tables}\n{last}{after}"


def show(tables: str, name: str, page: Path | None) -> None:
    """Print the tables, and write them to a page of the documentation if one is given."""
    print(tables)
    if page is not None:
        page.write_text(between_marks(page.read_text(encoding="utf-8"), name, tables), encoding="utf-8")
