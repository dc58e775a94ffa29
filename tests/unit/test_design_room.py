"""The room of designs is pure: it could be taken out as it is."""

import ast
from pathlib import Path

ROOM = Path(__file__).parents[2] / "python/hindmost/design"


def test_designs_import_nothing_of_hindmost_but_errors_and_open_nothing() -> None:
    imported = set()
    for path in ROOM.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("open", "print"), path
    own = {name for name in imported if name.startswith("hindmost")}
    assert {name for name in own if not name.startswith("hindmost.design")} == {"hindmost.errors"}
    assert not imported & {"os", "pathlib", "socket", "subprocess", "time", "random"}
