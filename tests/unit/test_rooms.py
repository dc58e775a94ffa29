"""Which rooms of the laboratory may import which: arrows point down the table, never up."""

import ast
from collections import Counter
from pathlib import Path

LAB = Path(__file__).parents[2] / "python/hindmost"
OUTSIDE = {
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
"""Leaves of the package: they import no room."""
MAY: dict[str, set[str]] = {
    "stats": set(),
    "design": set(),
    "kubernetes": set(),
    "store": set(),
    "plan": set(),
    "report": {"plan", "store"},
    "targets": {"plan"},
    "knobs": {"plan", "store", "targets"},
    "fleet": {"plan", "targets", "knobs"},  # a load host may start the server, and set what is set there
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
"""`cli` and the package's face (`clone.py` is of it) may import all of them."""


def imports(path: Path) -> set[str]:
    """Rooms and leaves of hindmost that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "hindmost":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hindmost."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {one.name.split(".")[1] for one in node.names if one.name.startswith("hindmost.")}
    return found


def rooms() -> list[str]:
    return sorted(path.name for path in LAB.iterdir() if any(path.rglob("*.py")))


def test_every_room_stands_in_the_table_and_the_table_has_no_circle():
    assert set(rooms()) == {*MAY, "cli", "codes"}
    above: list[str] = []
    for room in MAY:
        assert MAY[room] <= set(above), f"{room} stands above what it imports"
        above.append(room)


def test_imports_go_the_way_that_the_table_allows():
    wrong = [
        f"{path.relative_to(LAB)} imports {name}"
        for room in MAY
        for path in sorted((LAB / room).rglob("*.py"))
        for name in sorted(
            imports(path) - MAY[room] - OUTSIDE - {room} - ({"cli"} if path.stem == "cli" else set())
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_leaves_import_no_room():
    for name in ("errors", "exits", "laws", "names", "notes", "privileges", "progress", "testing"):
        assert imports(LAB / f"{name}.py") - {"store"} <= OUTSIDE  # of `store` a type alone
    for path in (LAB / "codes").glob("*.py"):
        assert imports(path) <= {"codes"}
    # A load host has the wheel and none of its dependencies; of a clone the agent needs the document alone.
    assert imports(LAB / "agent.py") <= {*OUTSIDE, "models"}


def test_no_two_files_of_tests_have_one_name():
    """Pytest takes one for the other where both are in one session, as in the slow ring."""
    names = Counter(path.name for path in (LAB.parents[1] / "tests").rglob("test_*.py"))
    assert [name for name, files in names.items() if files > 1] == []
