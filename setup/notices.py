"""Write the licences of all crates in the engine: ``setup/notices.py OUT``. The wheel carries the file.

Licences such as MIT and BSD require that whoever gives a compiled library to others also gives its notice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NAMES = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "UNLICENSE*", "licen[cs]e*")
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")


def list_crates() -> dict[str, Path]:
    """Return the folder of each foreign crate that the engine links, by its name, version and licence."""
    found: dict[str, Path] = {}
    for target in TARGETS:
        command = ("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target)
        metadata = json.loads(subprocess.check_output(command))
        packages = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        waiting = [one for one in packages if packages[one]["name"] == "hindmost-bridge"]
        assert waiting, "the workspace has no crate hindmost-bridge"
        reached: set[str] = set()
        while waiting:
            package = waiting.pop()
            if package in reached:
                continue
            reached.add(package)
            waiting += [
                dependency["pkg"]
                for dependency in nodes[package]["deps"]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])  # not for builds or tests
            ]
        for one in (packages[package] for package in reached):
            if one["source"] is not None:
                title = f"{one['name']} {one['version']} ({one['license'] or 'see its licence file'})"
                found[title] = Path(one["manifest_path"]).parent
    return found


def main(out: Path) -> None:
    """Write each text once, below the names of its crates."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for title, folder in sorted(list_crates().items()):
        files = sorted({file for name in NAMES for file in folder.glob(name) if file.is_file()})
        text = "\n\n".join(file.read_text(encoding="utf-8", errors="replace").strip() for file in files)
        texts[text].append(title)
    rule = "=" * 100
    parts = ["Hindmost's engine contains these crates. Each text is the licence of the crates above it."]
    for text, titles in texts.items():
        parts += [rule, "\n".join(titles), text or "There is no licence file; the licence is named above."]
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
