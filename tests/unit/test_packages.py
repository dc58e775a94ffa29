"""Which packages of the laboratory may import which: only packages above them in the table."""

import ast
from collections import Counter
from pathlib import Path

LABORATORY = Path(__file__).parents[2] / "python/hindmost"
BASE = {"errors", "testing", "_engine", *(f"core.{path.stem}" for path in (LABORATORY / "core").glob("*.py"))}
BASE |= {"core.codes"}
"""Modules that import no package, except `core.store` for a type."""
PLANS = {"core.plan", "core.store", "core.targets", "stats"}
STUDIES = PLANS | {"core.fleet", "core.knobs", "core.results", "core.run", "core.study", "present", "cli"}
ALLOWED: dict[str, set[str]] = {
    "stats": set(),
    "core.capture": set(),
    "core.kubernetes": set(),
    "core.store": set(),
    "core.plan": set(),
    "present": {"core.store"},
    "core.targets": {"core.plan"},
    "core.knobs": {"core.plan", "core.store", "core.targets"},
    # A load host may start the server and set its settings.
    "core.fleet": {"core.plan", "core.store", "core.targets", "core.knobs"},
    "core.interventions": {"core.knobs", "core.targets"},
    "core.tracing": PLANS,
    "core.run": PLANS | {"core.fleet", "core.capture", "core.tracing"},
    "core.results": {"core.fleet", "core.run", "core.store", "present"},
    "core.study": PLANS | {"core.fleet", "core.knobs", "core.results", "core.run", "present"},
    "cli": PLANS | {"core.fleet", "core.run", "core.study"},
    "commands.completion": {"cli"},
    "commands.workload": PLANS | {"cli"},
    "commands.load": PLANS | {"cli", "core.run"},
    "commands.measure": STUDIES | {"core.capture"},
    "commands.attribute": STUDIES,
    "commands.trace": PLANS | {"cli", "present", "core.tracing"},
    "commands.watch": PLANS | {"cli", "present", "core.interventions"},
    "commands.diagnose": STUDIES | {"core.interventions", "commands.watch"},
    "commands.clone": STUDIES,
    "commands.compare": STUDIES | {"commands.attribute", "commands.clone", "commands.measure"},
    "commands.explain": STUDIES
    | {"core.tracing", "commands.attribute", "commands.compare", "commands.measure", "commands.trace"},
    "commands.colocate": STUDIES | {"core.interventions", "core.kubernetes", "commands.watch"},
    "commands.harvest": PLANS | {"cli", "present", "core.kubernetes"},
    "commands.extender": PLANS | {"cli", "core.kubernetes", "commands.colocate", "commands.harvest"},
    "commands.host": STUDIES | {"core.tracing"},
    "commands.study": STUDIES | {"commands.diagnose", "commands.measure"},
}
"""The modules at the top may import all packages."""


def package_of(parts: tuple[str, ...]) -> str:
    return ".".join(parts[:2]) if parts[0] in ("core", "commands") else parts[0]


def imports_of(path: Path) -> set[str]:
    """Return the packages of hindmost that a file imports, anywhere in it."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hindmost":
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names if alias.name.startswith("hindmost.")}
    return {package_of(tuple(name.split(".")[1:])) for name in modules} - {"__version__"}


def packages() -> set[str]:
    folders = [*LABORATORY.glob("*/"), *LABORATORY.glob("core/*/"), *LABORATORY.glob("commands/*/")]
    found = {path.relative_to(LABORATORY).parts for path in folders if any(path.rglob("*.py"))}
    return {".".join(parts) for parts in found} - {"core", "commands"}


def test_the_table_lists_every_package_and_has_no_circle():
    assert packages() == {*ALLOWED, "core.codes"}
    earlier: list[str] = []
    for package in ALLOWED:
        assert ALLOWED[package] <= set(earlier), f"{package} precedes a package that it imports"
        earlier.append(package)


def test_packages_import_only_allowed_packages():
    violations = [
        f"{path.relative_to(LABORATORY)} imports {name}"
        for package in ALLOWED
        for path in sorted((LABORATORY / package.replace(".", "/")).rglob("*.py"))
        for name in sorted(imports_of(path) - ALLOWED[package] - BASE - {package})
    ]
    assert not violations, "\n".join(violations)


def test_base_modules_import_no_package():
    for path in [LABORATORY / "errors.py", LABORATORY / "testing.py", *(LABORATORY / "core").glob("*.py")]:
        assert imports_of(path) <= BASE | {"core.store"}
    for path in (LABORATORY / "core/codes").glob("*.py"):
        assert imports_of(path) <= {"core.codes"}
    # A load host has the wheel without its dependencies; the agent needs only the document of a clone.
    assert imports_of(LABORATORY / "agent.py") <= {*BASE, "commands.clone"}


def test_test_files_have_distinct_names():
    """Pytest confuses such files in one session, as in the nightly suite."""
    names = Counter(path.name for path in (LABORATORY.parents[1] / "tests").rglob("test_*.py"))
    assert [name for name, files in names.items() if files > 1] == []
