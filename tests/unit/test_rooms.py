"""Which packages of the laboratory may import which: only packages above them in the table."""

import ast
from collections import Counter
from pathlib import Path

LABORATORY = Path(__file__).parents[2] / "python/hindmost"
MODULES = {
    "codes",
    "documents",
    "errors",
    "escapes",
    "exits",
    "laws",
    "names",
    "notes",
    "privileges",
    "progress",
    "testing",
    "_engine",
    "__version__",
    "agent",
}
"""Modules that import no package."""
ALLOWED: dict[str, set[str]] = {
    "stats": set(),
    "design": set(),
    "kubernetes": set(),
    "store": set(),
    "plan": set(),
    "report": {"plan", "store"},
    "targets": {"plan"},
    "knobs": {"plan", "store", "targets"},
    "fleet": {"plan", "targets", "knobs"},  # a load host may start the server and set its settings
    "capture": set(),
    "models": {"plan", "stats", "store"},
    "harvest": {"plan", "stats", "store", "design", "kubernetes"},
    "colocation": {"plan", "stats", "store", "models", "design", "kubernetes"},
    "trace": {"plan", "stats", "store", "targets"},
    "watch": {"plan", "stats", "targets"},
    "interventions": {"knobs", "targets", "watch"},
    "run": {"plan", "stats", "store", "targets", "fleet", "capture", "trace"},
    "studies": {
        *(
            "plan",
            "stats",
            "store",
            "targets",
            "fleet",
            "knobs",
            "models",
            "design",
            "report",
            "run",
            "capture",
            "watch",
            "interventions",
            "colocation",
        ),
    },
    "results": {"fleet", "models", "plan", "report", "run", "stats", "store", "studies"},
    "explain": {
        *(
            "plan",
            "stats",
            "store",
            "targets",
            "fleet",
            "knobs",
            "report",
            "run",
            "studies",
            "trace",
            "results",
        ),
    },
}
"""`cli` and the public interface, including `clone.py`, may import all packages."""


def imports_of(path: Path) -> set[str]:
    """Return the packages and modules of hindmost that a file imports, anywhere in it."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "hindmost":
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hindmost."):
            imported.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            imported |= {
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("hindmost.")
            }
    return imported


def packages() -> list[str]:
    return sorted(path.name for path in LABORATORY.iterdir() if any(path.rglob("*.py")))


def test_the_table_lists_every_package_and_has_no_circle():
    assert set(packages()) == {*ALLOWED, "cli", "codes"}
    earlier: list[str] = []
    for package in ALLOWED:
        assert ALLOWED[package] <= set(earlier), f"{package} precedes a package that it imports"
        earlier.append(package)


def test_packages_import_only_allowed_packages():
    violations = [
        f"{path.relative_to(LABORATORY)} imports {name}"
        for package in ALLOWED
        for path in sorted((LABORATORY / package).rglob("*.py"))
        for name in sorted(
            imports_of(path)
            - ALLOWED[package]
            - MODULES
            - {package}
            - ({"cli"} if path.stem == "cli" else set())
        )
    ]
    assert not violations, "\n".join(violations)


def test_modules_import_no_package():
    for name in ("errors", "exits", "laws", "names", "notes", "privileges", "progress", "testing"):
        assert imports_of(LABORATORY / f"{name}.py") - {"store"} <= MODULES  # `store` for a type only
    for path in (LABORATORY / "codes").glob("*.py"):
        assert imports_of(path) <= {"codes"}
    # A load host has the wheel without its dependencies; the agent needs only the document of a clone.
    assert imports_of(LABORATORY / "agent.py") <= {*MODULES, "models"}


def test_test_files_have_distinct_names():
    """Pytest confuses such files in one session, as in the nightly suite."""
    names = Counter(path.name for path in (LABORATORY.parents[1] / "tests").rglob("test_*.py"))
    assert [name for name, files in names.items() if files > 1] == []
