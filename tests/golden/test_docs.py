"""Check the documentation: links, generated pages, and numbers of limits."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from rows import each_row

from hindmost import _engine
from hindmost.core.exits import EPILOGUE, Exit
from hindmost.core.plan import MeasurePlan, load_workload

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as links write them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_row("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_relative_link_is_dead(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{link} leads nowhere"
        assert ROOT in [linked, *linked.parents], f"{link} leaves the project"
        if anchor:
            assert anchor in anchors(linked.read_text(encoding="utf-8")), f"{link} names no heading"


@each_row("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_code_exist(page):
    if page.name == "CHANGELOG.md":  # may name files that no longer exist
        return
    text = page.read_text(encoding="utf-8")
    mentioned = re.findall(r"`((?:crates|python|docs|setup|benches|examples|tests)/[\w./-]*\w/?)`", text)
    missing = [name for name in mentioned if not (ROOT / name).exists()]
    assert not missing


def load_generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", load_generator().PAGES)
def test_generated_page_is_up_to_date(name):
    generated = load_generator().PAGES[name]()
    stored = (ROOT / name).read_text(encoding="utf-8")
    assert generated == stored, "run make golden"


def test_the_reference_lists_every_exit_code():
    page = (ROOT / "docs/reference/exit-codes.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d+) \| (\w+)", page, re.MULTILINE))
    assert {int(code) for code in rows} == {int(code) for code in Exit}
    documented = {int(code) for code in re.findall(r"(?<![\w-])(\d+) \w", EPILOGUE)}
    assert documented == {int(code) for code in Exit}, "the end of every help page lists the same codes"


PROTOCOL_OF_KIND = {
    "key-value": "memcached",
    "http": "http",
    "commands": "redis",
    "sql": "postgresql",
    "messages": "ws",
    "raw": "raw",
}
"""A protocol for each kind of workload."""


@each_row("path", sorted(ROOT.glob("examples/workloads/*.json")), ids=lambda path: path.stem)
def test_example_workloads_are_accepted(path):
    workload = load_workload(path)
    assert MeasurePlan(target="x", workload=workload).engine_plan(
        1, 0, PROTOCOL_OF_KIND[workload["kind"]], "127.0.0.1:1"
    )


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/plans/*.json")), ids=lambda path: path.stem)
def test_example_plans_are_accepted(path):
    assert json.loads(_engine.check_plan(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("page", "count"), [("measure", 2), ("redis-and-postgresql", 3)])
def test_workloads_in_the_guides_are_accepted(page, count, tmp_path):
    guide = (ROOT / f"docs/guides/{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) == count
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.json"
        file.write_text(block, encoding="utf-8")
        workload = load_workload(file)
        plan = MeasurePlan(target="x", workload=workload)
        assert plan.engine_plan(1, 0, PROTOCOL_OF_KIND[workload["kind"]], "127.0.0.1:1")
