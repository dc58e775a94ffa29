"""Programs running together: what is learned from pairs, and which job is the best neighbour."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import profile_cards
import pytest
from messages import assert_refused, raises
from msgspec.structs import replace
from profile_cards import OTHER_PROCESSOR, PROCESSOR, share, under_load, write_card

from hindmost.cli import main
from hindmost.commands.colocate import pairs as pairing
from hindmost.commands.colocate import stressors, windows
from hindmost.commands.colocate.documents.pairs import Pairs
from hindmost.commands.colocate.documents.profiles import Growth, Neighbour, Profile
from hindmost.commands.colocate.documents.stored import load_pairs
from hindmost.commands.colocate.prediction.decision import decide, rank_jobs
from hindmost.commands.colocate.view.decision import view_answer, view_neighbours
from hindmost.commands.colocate.view.pairs import view_pairs
from hindmost.commands.colocate.view.wording import percent
from hindmost.commands.colocate.windows import CpuReading, WindowResult
from hindmost.core.store.estimates import encode
from hindmost.errors import HostUnfit, Inconclusive, UsageError
from hindmost.present.blocks import Cell, Section, Table
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

METHOD = replace(profile_cards.METHOD, windows=500, dropped=0)
STRESSORS = ("l3", "dram")
HERE = CpuReading("far", (3.7, 3.7))


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    """Score over 20 random halves instead of 100: figures in these tests are far from their limits."""
    monkeypatch.setattr(pairing, "SPLITS", 20)


def card(name: str, lost: Any, inflicted: Any, **more: Any) -> Profile:
    axes = (dict(zip(STRESSORS, each, strict=True)) for each in (lost, inflicted))
    return profile_cards.card(name, *axes, **{"half": 0.005, "placement": "far"} | more)


def programs(n: int, seed: int = 1) -> tuple[list[Profile], np.ndarray]:
    """Return profiles, and each program's loss next to each other program: a sum of products."""
    rng = np.random.default_rng(seed)
    lost, inflicted = rng.uniform(0, 0.6, (n, 2)), rng.uniform(0, 0.8, (n, 2))
    cards = [card(f"p{k}", lost[k], inflicted[k]) for k in range(n)]
    return cards, lost @ (inflicted * np.array([0.5, 1.0])).T


def measure_pairs(n: int, *, noise: float = 0.003, rounds: int = 8, scale: float = 1.0) -> Pairs:
    cards, truth = programs(n)
    rng = np.random.default_rng(7)
    windows_by_program = {
        program.name: [
            [WindowResult("null", True, 100.0, None, (HERE, HERE), False)]
            + [
                WindowResult(
                    neighbour.name,
                    True,
                    100 * (1 - scale * truth[k, j] + rng.normal(0, noise)),
                    None,
                    (HERE, HERE),
                    False,
                )
                for j, neighbour in enumerate(cards)
            ]
            for _ in range(rounds)
        ]
        for k, program in enumerate(cards)
    }
    return pairing.compute_pairs(windows_by_program, cards, METHOD)


def test_losses_exceed_noise_and_models_beat_the_trivial_predictors():
    result = measure_pairs(12)
    values = np.array([[loss.value for loss in row if loss is not None] for row in result.lost])
    assert values == pytest.approx(programs(12)[1], abs=0.01)
    assert result.split_half is not None
    assert result.split_half > 0.99
    scores = {score.name: score for score in result.scores}
    assert scores["zero"].trivial
    assert scores["Eq 3.3"].skill is not None
    assert scores["Eq 3.3"].skill > 0.8
    view = view_pairs(result)
    for text in (render_terminal(view, width=200), render_page(view)):
        assert percent(scores["Eq 3.3"].error, 2) in text
    (matrix,) = (block for block in sections(view)[0].blocks if isinstance(block, Table))
    cells = [cell for row in matrix.rows for cell in row[1:] if isinstance(cell, Cell)]
    assert len(cells) == 144
    assert sum(cell.tone == "strong" for cell in cells) >= 100
    row, column = np.unravel_index(values.argmax(), values.shape)
    worst = matrix.rows[row][column + 1]
    assert (worst.text, worst.heat) == (f"{percent(values.max())}*", max(cell.heat for cell in cells))


def sections(view):
    return [block for block in view.blocks if isinstance(block, Section)]


def test_pairs_are_read_as_they_were_written(tmp_path):
    result = measure_pairs(6)
    (tmp_path / "pairs.json").write_text(encode(result))
    assert load_pairs(tmp_path / "pairs.json") == result


def test_without_losses_all_pairs_are_noise_and_no_model_has_skill():
    result = measure_pairs(8, noise=0.02, scale=0.0)
    significant = [loss for row in result.lost for loss in row if loss is not None and not loss.noise]
    assert len(significant) < 0.15 * 64
    assert result.above == 0
    assert {score.skill for score in result.scores} == {None}


def test_lost_windows_are_missing_and_not_learned_from():
    cards, _ = programs(6)
    lost_window = WindowResult("p0", True, None, None, (HERE, HERE), False, "processor")
    windows_by_program = {
        program.name: [
            [WindowResult("null", True, 100.0, None, (HERE, HERE), False)]
            + [
                lost_window
                if neighbour.name == "p0"
                else WindowResult(neighbour.name, True, 90.0 + k, None, (HERE, HERE), False)
                for k, neighbour in enumerate(cards)
            ]
            for _ in range(4)
        ]
        for program in cards
    }
    result = pairing.compute_pairs(windows_by_program, cards, METHOD)
    assert [row[0] for row in result.lost] == [None] * 6
    assert all(np.isfinite(score.error) for score in result.scores)
    with raises(Inconclusive, "few-windows", have=500):
        pairing.compute_pairs({name: [] for name in windows_by_program}, cards, METHOD)


def test_a_measured_pair_decides_its_own_answer():
    cards, truth = programs(8)
    pairs = measure_pairs(8)
    most, least = np.unravel_index(truth.argmax(), truth.shape), np.unravel_index(truth.argmin(), truth.shape)
    bad = decide(cards[most[1]], cards[most[0]], within=0.1, load=0.5, pairs=pairs)
    good = decide(cards[least[1]], cards[least[0]], within=0.5, load=0.2, pairs=pairs)
    assert (bad.answer, good.answer, bad.by) == ("no", "yes", "measured")
    assert percent(bad.expected) in view_answer(bad).headline


def test_a_measured_pair_decides_nothing_about_percentiles():
    cards, truth = programs(8)
    pairs = measure_pairs(8)
    least = np.unravel_index(truth.argmin(), truth.shape)
    server = replace(cards[least[0]], loaded=under_load(0.1, share(0, 0.005), share(0, 0.005)))
    for value, answer in ((0.0, "yes"), (3.0, "unknown")):
        growth = Growth(p50=share(value, 0.005), p99=share(value, 0.005))
        slower = replace(server, axes=[replace(axis, latency=growth) for axis in server.axes])
        assert decide(cards[least[1]], slower, within=0.5, load=0.2, pairs=pairs).answer == answer


def test_unmeasured_pairs_are_decided_by_a_model_or_by_the_bound():
    cards, pairs = programs(22)[0], measure_pairs(20)
    quiet = card("quiet", (0.01, 0.01), (0.01, 0.01))
    loud = card("loud", (0.6, 0.6), (0.8, 0.8))
    for job, answer in ((quiet, "yes"), (loud, "no")):
        result = decide(job, loud, within=0.3, load=0.2, pairs=pairs, violations=0.3)
        assert (result.answer, result.by) == (answer, "model")
    strict = decide(quiet, loud, within=0.3, load=0.2, pairs=pairs, violations=0.001)
    assert strict.by == "bound"
    assert strict.notes[-1].code == "high-violation-rate"
    assert strict.notes[-1].values["least"] == strict.least_rate > 0.001
    few = decide(quiet, loud, within=0.3, load=0.2, pairs=measure_pairs(5), violations=0.3)
    assert (few.notes[-1].code, few.notes[-1].values["have"]) == ("few-programs", 5)
    on_another_cpu = replace(quiet, processor=OTHER_PROCESSOR)
    with raises(UsageError, "other-processor", value=PROCESSOR.name, need=OTHER_PROCESSOR.name):
        decide(on_another_cpu, on_another_cpu, within=0.3, load=0.2, pairs=pairs)
    assert len(cards) == 22


def test_the_best_neighbour_costs_least(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    server = card("kv", (0.3, 0.1), (0.0, 0.0))
    jobs = [
        card("stream", (0, 0), (0.7, 0.7)),
        card("sha", (0, 0), (-0.01, -0.01)),
        card("sort", (0, 0), (0.2, 0.1)),
    ]
    result = rank_jobs(server, jobs, within=0.1, load=0.5)
    assert [job.job for job in result.jobs] == ["sha", "sort", "stream"]
    view = view_neighbours(result)
    assert {"kv", "sha"} <= set(view.headline.replace(".", " ").split())
    (table,) = (block for block in view.blocks if isinstance(block, Table))
    assert [row[:2] for row in table.rows] == [(job.job, job.answer) for job in result.jobs]
    paths = [write_card(tmp_path, program) for program in (server, *jobs)]
    assert main(["colocate", "predict", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["answer"] == "yes"
    assert main(["colocate", "predict", paths[0], paths[1]]) == 4
    assert_refused(["colocate", "predict", paths[0]], capsys, 2, "missing-argument", argument="JOB")
    with raises(UsageError, "bad-file", value="hindmost.profile/2", need="hindmost.pairs/2"):
        load_pairs(Path(paths[0]))


@pytest.mark.parametrize(
    ("more", "code", "fields"),
    [
        ({"name": "null"}, "duplicate-name", {"name": "null"}),
        ({"name": "a"}, "duplicate-name", {"name": "a"}),
        ({"processor": OTHER_PROCESSOR}, "other-processor", {"name": "b"}),
        ({"method": replace(METHOD, unit="bytes")}, "shared-counter", {"name": "b", "unit": "bytes"}),
        (
            {"method": replace(METHOD, unit="requests"), "loaded": under_load(0.1)},
            "shared-counter",
            {"name": "b", "unit": "requests"},
        ),
    ],
)
def test_profiles_that_cannot_be_paired_are_refused_before_anything_runs(monkeypatch, more, code, fields):
    monkeypatch.setattr(pairing, "read_processor", lambda: PROCESSOR)
    with raises(UsageError, code, **fields):
        pairing.pairs([card("a", (0, 0), (0, 0)), replace(card("b", (0, 0), (0, 0)), **more)])
    with raises(UsageError, "missing-argument", have=1, need=2):
        pairing.pairs([card("a", (0, 0), (0, 0))])


def test_a_window_with_a_changed_clock_does_not_count():
    neighbour_slowed, program_slowed = CpuReading("far", (2.6, 3.7)), CpuReading("far", (3.7, 2.6))

    def window_with(after: CpuReading, *, with_program: bool = True) -> WindowResult:
        return WindowResult("l3", with_program, 100.0, None, (HERE, after), False)

    assert not window_with(neighbour_slowed).is_usable
    assert not window_with(program_slowed, with_program=False).is_usable
    assert window_with(program_slowed).is_usable, "the program's own CPU kept its clock"
    assert window_with(neighbour_slowed, with_program=False).is_usable, (
        "the program did not run in this window"
    )
    assert window_with(CpuReading("far", (3.6, 3.65))).is_usable, "a small step of the boost clock"
    assert windows.clock_differs((HERE, program_slowed), 1)
    placement, notes = windows.placement_of([window_with(HERE), window_with(neighbour_slowed)])
    assert placement == "far"
    assert [note.code for note in notes] == ["clock-changed"]
    assert notes[0].values == {"excluded": 1, "windows": 2, "least": 2.6, "most": 3.7, "unit": "GHz"}
    row = windows.rows_of([[window_with(neighbour_slowed)]])[0]
    assert (row.round, row.kept, row.ghz) == (1, False, [[3.7, 3.7], [2.6, 3.7]])


def test_a_sibling_cpu_is_found_by_measurement(monkeypatch):
    placements = {0: "near", 2: "siblings", 3: "far"}
    monkeypatch.setattr(stressors, "allowed_cpus", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(stressors, "choose_pair", lambda _: (1, 0))
    monkeypatch.setattr(stressors, "choose_cpu", lambda cpu, _option: cpu)

    def fake_neighbour(cpu: int, other: int) -> Neighbour:
        return Neighbour(cpu=other, placement=placements[other], one_way_ns=30.0 + other, same_port=1.0)

    monkeypatch.setattr(stressors, "measure_neighbour", fake_neighbour)
    assert stressors.choose_cpus(None, "sibling") == (1, 2)
    assert stressors.choose_cpus(None, None) == (1, 0)
    assert stressors.choose_cpus(None, "3") == (1, 3)
    placements[2] = "near"
    with raises(HostUnfit, "no-sibling", cpu=1, nearest=0, placement="near", one_way_ns=30.0):
        stressors.choose_cpus(None, "sibling")
    for wrong in ("1", "x", "-1"):
        with raises(UsageError, "bad-value", option="--other", value=wrong):
            stressors.choose_cpus(None, wrong)
