"""Write the table of machines from what they printed: ``python docs/machines_page.py RESULTS MACHINES``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

HEAD = """# Machines and capabilities

What works on other kernels, topologies and rights. `make machines` writes this page: it starts virtual
machines without KVM, so nothing here is timed. Their cgroups are version 2 only. A refusal names the code of
[the message](reference/messages.md).

"""


def main(results: Path, machines: str) -> None:
    """Print the page."""
    rows = {}
    for line in machines.splitlines():
        name, _, cpus, user, about, arguments = line.split("|")
        file = results / name
        if file.exists():
            found = [
                json.loads(one.partition(" ")[2])
                for one in file.read_text(errors="replace").splitlines()
                if one.startswith("CAPABILITY ")
            ]
            rows[f"{name}: {about}; CPUs {cpus}; {user}" + (f"; {arguments}" if arguments else "")] = {
                one["name"]: one for one in found
            }
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    print(HEAD + f"| machine | {' | '.join(names)} |")
    print(f"| --- |{' --- |' * len(names)}")
    for machine, row in rows.items():
        print(f"| {machine} | {' | '.join(_cell(row.get(name)) for name in names)} |")


def _cell(one: dict[str, str] | None) -> str:
    if one is None:
        return "not reached"
    text = one["text"].replace("|", "/")
    return text if one["state"] == "ok" else f"{one['state']}: `{text}`"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
