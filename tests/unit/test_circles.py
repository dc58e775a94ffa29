"""Files of a crate do not import each other in circles."""

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
    """Return the text of each file of a crate, without its tests."""
    found = {}
    for file in src.rglob("*.rs"):
        name = file.relative_to(src).with_suffix("").parts
        name = name[:-1] if name[-1] in ("mod", "lib", "main") else name
        if "tests" not in name:
            found[name] = TESTS.sub("", file.read_text())
    return found


def paths(tree: str) -> Iterator[list[str]]:
    """Yield all paths of a ``use``: ``a::{b, c::{d, e}}`` gives a::b, a::c::d and a::c::e."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.split("::")
        return
    depth, part = 0, ""
    for sign in rest[: rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign != "," or depth:
            part += sign
        else:
            if part:
                yield from paths(head + part)
            part = ""


def imports_of(name: Module, text: str, files: set[Module]) -> set[Module]:
    """Return the files that a file imports, without the crate's root, which re-exports names."""
    found = set()
    for use in USE.finditer(text):
        for path in paths(re.sub(r"\s+", "", use[1])):
            target = list(name)
            for word in path:
                if word == "crate":
                    target = []
                elif word == "super":
                    target = target[:-1]  # a module inside a file counts as a file next to it
                elif word != "self":
                    target.append(word)
            while tuple(target) not in files:
                target.pop()
            found.add(tuple(target))
    return found - {name, ()}


def find_circle(texts: dict[Module, str]) -> list[str]:
    """Return a circle of files, or an empty list."""
    files = set(texts) | {()}
    try:
        TopologicalSorter({name: imports_of(name, text, files) for name, text in texts.items()}).prepare()
    except CycleError as error:
        return ["::".join(name) for name in error.args[1]]
    return []


@each_row("crate", sorted(src.parent.name for src in CRATES.glob("*/src")))
def test_no_file_of_a_crate_imports_what_imports_it(crate):
    texts = modules(CRATES / crate / "src")
    assert texts
    assert not find_circle(texts)


def test_a_circle_is_found_through_braces_and_parents():
    texts = {("a",): "use crate::{x, b::{self, C}};", ("b",): "", ("b", "d"): "use super::super::a::E;"}
    assert not find_circle(texts)
    texts["b",] = "use self::d::F;"
    assert sorted(find_circle(texts)[1:]) == ["a", "b", "b::d"]
    tests = "fn f() {}\n#[cfg(test)]\n#[allow(unused)]\npub mod tests {\n    use super::super::a::E;\n}\n"
    assert TESTS.sub("", tests) == "fn f() {}\n"
