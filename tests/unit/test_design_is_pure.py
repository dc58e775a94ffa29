"""The design package is pure and could be used on its own."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python/hindmost/commands/attribute/design"


def test_designs_import_only_errors_and_units_and_open_no_files() -> None:
    imported = set()
    for path in PACKAGE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("open", "print"), path
    internal = {name for name in imported if name.startswith("hindmost")}
    assert {name for name in internal if not name.startswith("hindmost.commands.attribute.design")} == {
        "hindmost.core.plan.units",
        "hindmost.errors",
    }
    assert not imported & {"os", "pathlib", "socket", "subprocess", "time", "random"}
