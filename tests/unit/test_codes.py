"""Every code that the product gives is in the tables of `hindmost.codes`, and every code there is given."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from hindmost import errors
from hindmost.codes import CODES

ROOT = Path(__file__).parents[2]
LAB = ROOT / "python/hindmost"
ERRORS = {name for name, one in vars(errors).items() if isinstance(one, type)} - {"HostLost", "Interrupted"}


def literals(node: ast.expr) -> set[str]:
    """Strings that an expression may come to: a literal, or either side of a choice."""
    match node:
        case ast.Constant(value=str(value)):
            return {value}
        case ast.IfExp(body=one, orelse=other):
            return literals(one) | literals(other)
    return set()


def given() -> dict[str, str]:
    """Codes that errors, notes and reasons are made with, and a place of each."""
    found: dict[str, str] = {}
    names = {*ERRORS, "Note", "Reason"}
    calls = re.compile(rf"\b(?:{'|'.join(names)})\(")
    for path in sorted(LAB.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not calls.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
                for code in literals(node.args[0]):
                    found.setdefault(code, f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def test_every_code_that_is_given_is_in_the_table():
    assert {code: place for code, place in given().items() if code not in CODES} == {}


def test_every_code_of_the_table_is_given_somewhere():
    # Codes of the engine, and those that stand in tables of their own, are quoted somewhere else.
    files = [*LAB.rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    texts = [path.read_text(encoding="utf-8") for path in files if path.parent != LAB / "codes"]
    quoted = set(re.findall(r'["\[]([a-z0-9-]+)["\]]', "\n".join(texts)))
    assert sorted(set(CODES) - quoted) == []


def test_codes_are_kebab_case_and_explained():
    for code, (meaning, action) in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code), code
        assert meaning.endswith("."), code
        assert action.endswith("."), code
