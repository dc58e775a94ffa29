"""Every code that the product uses is in the tables of `hindmost.core.codes`, and every code there is used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from hindmost import errors
from hindmost.core.codes import CODES

ROOT = Path(__file__).parents[2]
LABORATORY = ROOT / "python/hindmost"
ERRORS = {name for name, value in vars(errors).items() if isinstance(value, type)} - {
    "HostLost",
    "Interrupted",
}


def literals(node: ast.expr) -> set[str]:
    """Return the strings that an expression can evaluate to: a literal, or both sides of a conditional."""
    match node:
        case ast.Constant(value=str(value)):
            return {value}
        case ast.IfExp(body=body, orelse=orelse):
            return literals(body) | literals(orelse)
    return set()


def used_codes() -> dict[str, str]:
    """Return the codes of errors, notes and reasons, each with a place that uses it."""
    codes: dict[str, str] = {}
    names = {*ERRORS, "Note", "Reason"}
    calls = re.compile(rf"\b(?:{'|'.join(names)})\(")
    for path in sorted(LABORATORY.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not calls.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
                for code in literals(node.args[0]):
                    codes.setdefault(code, f"{path.relative_to(ROOT)}:{node.lineno}")
    return codes


def test_every_used_code_is_in_the_table():
    assert {code: place for code, place in used_codes().items() if code not in CODES} == {}


def test_every_code_of_the_table_is_used():
    # Codes of the engine and codes in other tables are quoted elsewhere.
    files = [*LABORATORY.rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    texts = [path.read_text(encoding="utf-8") for path in files if path.parent != LABORATORY / "codes"]
    quoted = set(re.findall(r'["\[]([a-z0-9-]+)["\]]', "\n".join(texts)))
    assert sorted(set(CODES) - quoted) == []


def test_codes_are_kebab_case_and_explained():
    for code, (meaning, action) in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code), code
        assert meaning.endswith("."), code
        assert action.endswith("."), code
