"""Files of a crate do not import each other in circles: what two need is a file below both."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from rows import each_row

CRATES = Path(__file__).parents[2] / "crates"
TESTS = re.compile(
    r"^#\[cfg\([^\n]*\btest\b[^\n]*\n(?:#\[[^\n]*\n)*(?:pub )?mod \w+ \{.*", re.MULTILINE | re.DOTALL
)
USE = re.compile(r"\buse\s+((?:crate|super|self)\b[^;]*);")
Module = tuple[str, ...]


def modules(src: Path) -> dict[Module, str]:
    """What each file of a crate says, without its tests."""
    found = {}
    for file in src.rglob("*.rs"):
        name = file.relative_to(src).with_suffix("").parts
        name = name[:-1] if name[-1] in ("mod", "lib", "main") else name
        if "tests" not in name:
            found[name] = TESTS.sub("", file.read_text())
    return found


def paths(tree: str) -> Iterator[list[str]]:
    """All paths of a ``use``: those of ``a::{b, c::{d, e}}`` are a::b, a::c::d, a::c::e."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.split("::")
        return
    depth, one = 0, ""
    for sign in rest[: rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign != "," or depth:
            one += sign
        else:
            if one:
                yield from paths(head + one)
            one = ""


def imported(name: Module, text: str, known: set[Module]) -> set[Module]:
    """Files that one imports; the crate's face, which hands names on, counts for none."""
    found = set()
    for use in USE.finditer(text):
        for path in paths(re.sub(r"\s+", "", use[1])):
            whole = list(name)
            for word in path:
                if word == "crate":
                    whole = []
                elif word == "super":
                    whole = whole[:-1]  # a module inside a file stands beside it here
                elif word != "self":
                    whole.append(word)
            while tuple(whole) not in known:
                whole.pop()
            found.add(tuple(whole))
    return found - {name, ()}


def ring(texts: dict[Module, str]) -> list[str]:
    """A circle of files, or nothing."""
    known = set(texts) | {()}
    try:
        TopologicalSorter({name: imported(name, text, known) for name, text in texts.items()}).prepare()
    except CycleError as error:
        return ["::".join(name) for name in error.args[1]]
    return []


@each_row("crate", sorted(one.parent.name for one in CRATES.glob("*/src")))
def test_no_file_of_a_crate_imports_what_imports_it(crate):
    texts = modules(CRATES / crate / "src")
    assert texts
    assert not ring(texts)


def test_a_circle_is_found_through_braces_and_parents():
    texts = {("a",): "use crate::{x, b::{self, C}};", ("b",): "", ("b", "d"): "use super::super::a::E;"}
    assert not ring(texts)
    texts["b",] = "use self::d::F;"
    assert sorted(ring(texts)[1:]) == ["a", "b", "b::d"]
    tests = "fn f() {}\n#[cfg(test)]\n#[allow(unused)]\npub mod tests {\n    use super::super::a::E;\n}\n"
    assert TESTS.sub("", tests) == "fn f() {}\n"
