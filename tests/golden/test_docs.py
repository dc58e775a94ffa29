"""The documentation is true where a machine can tell: links, generated pages, numbers of limits."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from hindmost import _engine
from hindmost.exits import EPILOGUE, Exit
from hindmost.plan import MeasurePlan, load_workload
from hindmost.run import limits

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def anchors(text: str) -> set[str]:
    """Names of a page's headings, as they stand in links."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_relative_link_is_dead(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{link} leads nowhere"
        assert ROOT in [there, *there.parents], f"{link} leaves the project"
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{link} names no heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_code_exist(page):
    if page.name == "CHANGELOG.md":  # it may speak of what is gone
        return
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:crates|python|docs|setup|benches|examples|schemas|tests)/[\w./-]*\w/?)`", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", generator().PAGES)
def test_generated_page_is_up_to_date(name):
    made = generator().PAGES[name]()
    kept = (ROOT / name).read_text(encoding="utf-8")
    assert made == kept, "setup/run python docs/generate.py writes it anew"


def percent(share: float) -> str:
    return f"{100 * share:g} %"


@pytest.mark.parametrize(
    ("row", "numbers"),
    [
        ("share of a latency percentile", [percent(limits.LATENESS), f"{limits.LATENESS_FLOOR_US:g} us"]),
        ("Kolmogorov distance", [f"{limits.ARRIVALS_MIND:g}", f"{limits.ARRIVALS_INVALID:g}"]),
        ("dispersion of requests", [f"{limits.DISPERSION:g}"]),
        ("busy share", [percent(limits.BUSY_MIND), percent(limits.BUSY_INVALID)]),
        ("asked rate", [percent(limits.RATE_SHORTFALL)]),
        ("wire latency less what a packet capture", [f"{limits.WIRE_CONSTANCY_US:g} us"]),
        (
            "service latency less what it saw",
            [
                f"{limits.SERVICE_CONSTANCY_US:g} us",
                percent(limits.LATENESS),
                f"{limits.LATENESS_FLOOR_US:g} us",
            ],
        ),
        ("requests answered with an error", [percent(limits.ERROR_INCONCLUSIVE)]),
        ("requests beyond the percentile", [f"{limits.SAMPLES_MIND}", f"{limits.SAMPLES_INCONCLUSIVE}"]),
        ("latencies above the calibrated range", [percent(limits.OUT_OF_RANGE)]),
        ("time that the hypervisor took", [percent(limits.STEAL_MIND), percent(limits.STEAL_INCONCLUSIVE)]),
        ("time that a client waited", [f"{limits.TAIL_MIND:g}", f"{limits.TAIL_INCONCLUSIVE:g}"]),
        ("times a second that a spinning client", [f"{limits.SWITCHES_MIND:g}"]),
        ("periods of a CPU quota", [percent(limits.THROTTLED_INCONCLUSIVE)]),
        ("interrupts a second", [f"{limits.INTERRUPTS_MIND:g}"]),
        ("TCP segments sent again", [f"{limits.TAIL_INCONCLUSIVE:g}"]),
        ("requests that waited for room", [percent(limits.BLOCKED_MIND)]),
        ("time that the server's receive buffer", [percent(limits.PEER_FULL_MIND)]),
        ("a client's receive buffer", [percent(limits.RECEIVE_FILL_MIND)]),
    ],
)
@pytest.mark.parametrize("page", ["procedure", "self-diagnosis"])
def test_limits_in_the_pages_are_those_of_the_code(page, row, numbers):
    text = (ROOT / f"docs/concepts/{page}.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| {row}"))
    columns = line.split("|")[2:5]  # mind, inconclusive, invalid
    found = re.findall(r"[\d.]+ %|[\d.]+ us|[\d.]*\d", "|".join(columns))
    assert found == numbers


def test_exit_codes_in_the_reference_are_those_of_the_code():
    page = (ROOT / "docs/reference/exit-codes.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d+) \| (\w+)", page, re.MULTILINE))
    assert {int(code) for code in rows} == {int(code) for code in Exit}
    told = {int(code) for code in re.findall(r"(?<![\w-])(\d+) \w", EPILOGUE)}
    assert told == {int(code) for code in Exit}, "the end of every help page says the same"


def test_limits_of_runs_that_count_are_those_of_the_code():
    text = (ROOT / "docs/concepts/procedure.md").read_text(encoding="utf-8")
    section = text[text.index("## Runs that do not count") :]
    shares = (limits.ERROR_INCONCLUSIVE, limits.BUSY_INVALID, limits.STEAL_INCONCLUSIVE, limits.DELAYED)
    for number in (
        *map(percent, (*shares, limits.THROTTLED_INCONCLUSIVE, limits.LATENESS, limits.AWAY)),
        f"{limits.ARRIVALS_INVALID:g}",
        f"{limits.LATENESS_FLOOR_US:g} us",
        f"{limits.AWAY_US:g} us",
    ):
        assert number in section, number


SPOKEN = {
    "key-value": "memcached",
    "http": "http",
    "commands": "redis",
    "sql": "postgresql",
    "messages": "ws",
    "raw": "raw",
}
"""A protocol for each kind of workload."""


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/workloads/*.json")), ids=lambda path: path.stem)
def test_example_workloads_are_taken(path):
    workload = load_workload(path)
    assert MeasurePlan(target="x", workload=workload).engine_plan(
        1, 0, SPOKEN[workload["kind"]], "127.0.0.1:1"
    )


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/plans/*.json")), ids=lambda path: path.stem)
def test_example_plans_are_taken(path):
    assert json.loads(_engine.check_plan(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("page", "count"), [("measure", 2), ("redis-and-postgresql", 3)])
def test_workloads_in_the_guides_are_taken(page, count, tmp_path):
    guide = (ROOT / f"docs/guides/{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    assert len(blocks) == count
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.json"
        file.write_text(block, encoding="utf-8")
        workload = load_workload(file)
        plan = MeasurePlan(target="x", workload=workload)
        assert plan.engine_plan(1, 0, SPOKEN[workload["kind"]], "127.0.0.1:1")


def test_the_search_that_the_guide_shows_is_written_as_searches_are_written_today():
    from hindmost.report.search.terminal import IN_WORDS, render_search

    step = {
        "rate_per_s": 1_000.0,
        "outcome": "holds",
        "value_us": 1.0,
        "low_us": 1.0,
        "high_us": 1.0,
        "why": "",
    }
    counted = {"runs": 4, "left_out": 1, "study": "steps/1000"}
    document = {"objective": "p50<20ms", "headline": "x", "steps": [{**step, **counted}]}
    heads = render_search(document).splitlines()[2]
    text = (ROOT / "docs/guides/overload-and-scale.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    sentence, table = shown.split("\n\n", 1)
    told = " ".join(sentence.split())
    assert re.match(r"p50<20ms holds up to [\d,]+ requests/s: .*, median over \d+( of \d+)? runs", told)
    head, *rows = table.splitlines()
    assert head.split() == heads.split()
    outcomes = "|".join(IN_WORDS.values())
    steps = [row for row in rows if re.match(r" *[\d,]+  ", row)]
    assert steps
    assert all(re.match(rf" *[\d,]+  ({outcomes})  ", row) for row in steps)
