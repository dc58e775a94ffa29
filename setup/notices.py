"""Write the licences of foreign code that we publish: ``setup/notices.py OUT [PACKAGE...]``.

Without packages: of all crates in the engine, for the wheel. With packages of this Python: theirs, for the
site of the documentation. Licences such as MIT and BSD require that whoever gives a compiled library to
others also gives its notice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path, PurePath

NAMES = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "UNLICENSE*", "licen[cs]e*")
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")


def list_crates() -> dict[str, list[Path]]:
    """Return the licence files of each foreign crate in the engine, by its name, version and licence."""
    found: dict[str, list[Path]] = {}
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
                folder = Path(one["manifest_path"]).parent
                files = {file for name in NAMES for file in folder.glob(name) if file.is_file()}
                found[title] = sorted(files)
    return found


def list_packages(names: Iterable[str]) -> dict[str, list[Path]]:
    """Return the licence files of installed Python packages, by name and version."""
    found = {}
    for name in names:
        package = distribution(name)
        files = [file for file in package.files or () if any(PurePath(file.name).match(one) for one in NAMES)]
        found[f"{name} {package.version}"] = [Path(str(file.locate())) for file in sorted(files)]
    return found


def write(out: Path, head: str, files: Mapping[str, Iterable[Path]]) -> None:
    """Write each text once, below the names of those that have it."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for title, paths in sorted(files.items()):
        files_text = [path.read_text(encoding="utf-8", errors="replace").strip() for path in paths]
        texts["\n\n".join(files_text)].append(title)
    parts = [f"{head} Each text is the licence of those above it."]
    for text, titles in texts.items():
        shown = text or "There is no licence file; the licence is named above."
        parts += ["=" * 100, "\n".join(titles), shown]
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    path, *packages = sys.argv[1:]
    if packages:
        write(Path(path), "This site contains files of these packages.", list_packages(packages))
    else:
        write(Path(path), "Hindmost's engine contains these crates.", list_crates())
