"""``hindmost clone sweep``: designs, inverse questions, page, JSON and refusals."""

import json

import jsonschema
import msgspec
import pytest
from messages import assert_refused, raises
from rows import each_row

from hindmost.cli import main
from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.documents.predictions import Sweep
from hindmost.commands.clone.inverse import Question, answer
from hindmost.commands.clone.parameters import Vary, apply_changes, changes, known_paths, parse_vary, value_at
from hindmost.commands.clone.simulation import Design
from hindmost.commands.clone.sweep import settings, sweep
from hindmost.commands.clone.view.answers import describe_answer
from hindmost.commands.clone.view.sweep import view
from hindmost.core.plan import parse_term
from hindmost.core.store.estimates import encode
from hindmost.core.store.schema import schemas
from hindmost.errors import UsageError
from hindmost.present.page import render_page

FEW = Design(requests=20_000)


def queue(**fields):
    law = {"kind": "exponential", "mean_us": 100}
    return Clone.from_document(
        {"schema": "hindmost.clone/1", "name": "queue", "service": [{"law": law}], **fields}
    )


def output_of(capsys, *arguments):
    code = main(["clone", "sweep", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def solve_question(question, load=None, clone=None, **more):
    return answer(clone or queue(), question, load, design=FEW, **more)


def test_values_are_parsed():
    assert parse_vary("threads=1..4").values == (1, 2, 3, 4)
    counted = parse_vary("threads=1..10:10").values
    assert (counted, {type(one) for one in counted}) == (tuple(range(1, 11)), {int})
    assert parse_vary("a=1,2.5,shared").values == (1, 2.5, "shared")
    assert parse_vary("a=10..20:3").values == (10.0, 15.0, 20.0)


@each_row("text", ["threads", "threads=", "=1", "a=5..1", "a=1..2:1", "a=1e3..x", "a=[1]", "a=NaN"])
def test_invalid_values_are_refused(text):
    with raises(UsageError, "bad-value", option="--vary"):
        parse_vary(text)


def test_every_listed_path_has_a_value_and_can_be_changed():
    for name in ("shore", "silo"):
        document = load_clone(name).document
        for path in known_paths(document):
            value = value_at(document, path)
            assert Clone.from_document(apply_changes(document, {path: value}))


@each_row("path", ["thread", "service[9].weight", "service", "note", "locks[0].law", "", "threads.x"])
def test_an_unknown_path_is_refused_with_similar_paths(path):
    with raises(UsageError, "unknown-name", name=path) as caught:
        value_at(load_clone("silo").document, path)
    nearest, known = caught.value.fields["nearest"], caught.value.fields["known"]
    assert nearest
    assert set(nearest) <= set(known)


def test_other_weights_fill_up_to_one():
    shore = load_clone("shore").document
    after = apply_changes(shore, {"service[2].weight": 0.521})
    assert [one["weight"] for one in after["service"]] == pytest.approx([0.254, 0.225, 0.521])
    with raises(UsageError, "weights-not-one", key="service", value=[1.0], left=0.0):
        changes(shore, {"service[2].weight": 1})


def test_median_and_mean_replace_each_other():
    after = apply_changes(load_clone("silo").document, {"service[0].law.mean_us": 20})
    assert after["service"][0]["law"]["median_us"] is None
    assert Clone.from_document(after).mean_busy_us > load_clone("silo").mean_busy_us


def test_a_factor_multiplies_all_service_times():
    double = Clone.from_document(apply_changes(queue().document, {"service_factor": 2}))
    assert double.mean_busy_us == pytest.approx(200)


def test_designs_are_combinations_or_pairs():
    varied = [Vary("a", (1, 2)), Vary("b", (3, 4)), Vary("c", (5,))]
    assert len(settings(varied)) == 4
    assert settings(varied, together=True) == [{"a": 1, "b": 3, "c": 5}, {"a": 2, "b": 4, "c": 5}]
    assert settings([]) == [{}]


def test_a_sweep_agrees_with_single_simulations_and_marks_invalid_designs():
    document = sweep(
        queue(), [Vary("threads", (1, 2))], [{"rate_per_s": 8e3}, {"rate_per_s": 15e3}], design=FEW
    )
    jsonschema.Draft202012Validator(schemas()["sweep"]).validate(json.loads(encode(document)))
    states = [(point.set["threads"], point.state) for point in document.points]
    assert states == [(1, "done"), (1, "above_capacity"), (2, "done"), (2, "done")]
    alone = sweep(queue(threads=2), [], [{"rate_per_s": 15e3}], design=FEW).points[0]
    assert alone.latency_us == document.points[3].latency_us
    page = render_page(view(document))
    assert page.count("<svg viewBox") > 10
    assert "<script" not in page


def test_the_highest_rate_agrees_with_theory():
    # M/M/1: p99 = 100 us ln(100) / (1 - load), so it is 1 ms at 53.9 % load.
    one = solve_question(Question(parse_term("p99<1ms"), "rate"))
    assert (one.state, one.side, one.uneven_at) == ("found", "at_most", [])
    assert one.value == pytest.approx(5_395, rel=0.05)
    assert one.surely <= one.value
    assert one.latency_us.value < 1_000


def test_threads_and_service_times_are_found_from_the_right_direction():
    threads = solve_question(Question(parse_term("mean<120us"), "threads"), {"rate_per_s": 25_000})
    # Erlang C at 25,000/s of 100 us: four threads wait 53 us on average, five 13 us, six 4 us.
    assert (threads.state, threads.side, threads.value) == ("found", "at_least", 5)
    service = solve_question(Question(parse_term("mean<300us"), "service"), {"rate_per_s": 5_000})
    assert service.value == pytest.approx(1.2, rel=0.02)
    assert service.side == "at_most"
    assert f"{service.safe:.2g}"[:3] in next(describe_answer(service))


def test_the_shortest_interval_between_pauses_is_found():
    pause = {
        "name": "gc",
        "scope": "server",
        "length": {"kind": "deterministic", "us": 5_000},
        "when": {"kind": "poisson", "per_second": 10},
    }
    one = solve_question(
        Question(parse_term("p99<1ms"), "disturbances[0].when.per_second"),
        {"rate_per_s": 2_000},
        queue(disturbances=[pause]),
    )
    assert (one.state, one.side) == ("found", "at_most")
    assert 0.5 < one.value < 3.0


def test_an_objective_that_always_or_never_holds_is_reported():
    load = {"rate_per_s": 5_000}
    never = solve_question(Question(parse_term("p99<100us"), "threads"), load)
    assert never.state == "never"
    assert {"1", "128"} <= set(next(describe_answer(never)).split())
    always = solve_question(Question(parse_term("p99<10s"), "threads"), load)
    assert always.state == "always"


def test_an_objective_that_alternates_has_no_single_answer():
    # A single pause counts only in the 20 s after the warm-up.
    gc = {
        "name": "gc",
        "scope": "server",
        "length": {"kind": "deterministic", "us": 100_000},
        "when": {"kind": "once", "at_us": [0]},
    }
    clone = queue(disturbances=[gc])
    one = solve_question(
        Question(parse_term("p99.9<900us"), "disturbances[0].when.at_us[0]", (1e3, 1e8)),
        {"rate_per_s": 1_000},
        clone,
    )
    assert one.state == "not_monotone"
    assert len(one.crossings) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        ("--vary thread=1", "unknown-name", {"name": "thread", "nearest": ["threads"]}),
        ("--vary threads=0", "bad-value", {"key": "threads", "value": 0}),
        ("--vary queue=heap", "bad-value", {"value": "heap", "known": ["shared", "per_thread"]}),
        ("--vary threads=1 --vary threads=2", "duplicate-name", {"option": "--vary", "name": "threads"}),
        (
            "--vary threads=1,2 --vary outside_us=1,2,3 --together",
            "uneven-lists",
            {"value": {"threads": 2, "outside_us": 3}},
        ),
        (
            "--vary threads=1..1000 --vary outside_us=1..1000 --rate 1",
            "too-many-points",
            {"value": 1_000_000, "most": 100_000},
        ),
        ("--rate 1k..9k", "bad-value", {"option": "--rate", "value": "1k..9k"}),
        ("--rate 9k..1k:3", "bad-value", {"option": "--rate", "value": "9k..1k:3"}),
        ("--utilisation 50%,110%", "bad-value", {"value": "110%"}),
        ("--by threads", "missing-argument", {"option": "--find", "needed_by": "--by"}),
        ("--find p99", "bad-value", {"value": "p99"}),
        ("--find p99<1ms --by threads", "missing-argument", {"needed_by": "--find"}),
        ("--find p99<1ms --by queue --rate 1k", "bad-value", {"option": "--by", "value": "shared"}),
        (
            "--find p99<1ms --by load.time --rate 1k",
            "unknown-range",
            {"option": "--between", "key": "load.time"},
        ),
        ("--find p99<1ms --between 9..1 --rate 1k", "bad-value", {"option": "--between", "value": "9..1"}),
        ("--out none/page.html", "no-such-file", {"option": "--out", "path": "none"}),
    ],
)
def test_invalid_options_are_refused_with_name_and_value(capsys, arguments, code, fields):
    assert_refused(["clone", "sweep", "silo", *arguments.split()], capsys, 2, code, **fields)


def test_table_page_and_json_agree(capsys, tmp_path):
    page = tmp_path / "page.html"
    arguments = [
        "silo",
        "--vary",
        "threads=1,2",
        "--utilisation",
        "50%",
        "--requests",
        "2000",
        "--find",
        "p99<1ms",
    ]
    code, out, err = output_of(capsys, *arguments, "--out", str(page))
    assert code == 0
    assert str(page) in err
    assert out.count("p99<1ms") == 2
    _, replica, _ = output_of(capsys, *arguments, "--json")
    document = json.loads(replica)
    jsonschema.Draft202012Validator(schemas()["sweep"]).validate(document)
    assert page.read_text() == render_page(view(msgspec.convert(document, Sweep)))
