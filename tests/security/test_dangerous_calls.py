"""The calls that SECURITY.md rules out, and the places that it names, in the source of the product."""

import ast
from collections.abc import Iterator
from pathlib import Path

PRODUCT = Path(__file__).parents[2] / "python/hindmost"
EVALUATES = {"eval", "exec", "os.system", "os.popen", "pickle.load", "pickle.loads", "marshal.loads"}
SHELLS = {"commands/colocate/supervision/job.py", "commands/colocate/corunner.py"}
CHANGES_OWNERS = {"core/targets/guard.py", "core/fleet/dask/broker.py"}


def find_nodes(kind: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    for path in PRODUCT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield path.relative_to(PRODUCT).as_posix(), node


CALLS = [(file, ast.unparse(node.func), node) for file, node in find_nodes(ast.Call)]


def test_nothing_evaluates_data():
    assert not {(file, name) for file, name, _ in CALLS if name in EVALUATES}
    loaders = {ast.unparse(call.keywords[0]) for _, name, call in CALLS if name == "yaml.load"}
    assert loaders == {"Loader=Loader"}, "the subclass of yaml.SafeLoader in core/plan/sources"


def test_shells_run_constant_scripts_in_two_places():
    assert not [name for _, name, call in CALLS if "shell=True" in map(ast.unparse, call.keywords)]
    found = {}
    for file, words in find_nodes(ast.List):
        if (
            words.elts
            and isinstance(words.elts[0], ast.Constant)
            and words.elts[0].value in ("sh", "/bin/sh")
        ):
            found[file] = words.elts[2]
    assert set(found) == SHELLS
    assert all(isinstance(script, ast.Name) and script.id.isupper() for script in found.values())


def test_owners_are_changed_in_two_places():
    assert {file for file, name, _ in CALLS if name.endswith("chown")} == CHANGES_OWNERS
