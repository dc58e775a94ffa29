"""Profile cards: programs beside rulers, and what two cards can promise."""

import json
import math
import os
import random
import sys
from pathlib import Path

import pytest
from measuring import wait_for
from messages import assert_refused, raises
from rows import each_row

from hindmost.cli import main
from hindmost.colocation.bound import judge_pair, read_card
from hindmost.colocation.decision import decide, rank_jobs
from hindmost.colocation.profiles import profiles_from_cards
from hindmost.errors import Inconclusive, TargetError, UsageError
from hindmost.notes import Note
from hindmost.report.colocation.profile import prometheus_text, render_answer, render_profile
from hindmost.studies.colocation import profile as profiles
from hindmost.studies.colocation import windows
from hindmost.studies.colocation.server import ProbeResult
from hindmost.studies.colocation.shares import growth, shares_lost
from hindmost.studies.colocation.subject import Subject
from hindmost.studies.colocation.windows import CpuReading, WindowResult, placement_of

WORKS = "import zlib, sys\nwhile True:\n zlib.compress(b'x' * 9999)\n sys.stdout.write('.\\n')\n sys.stdout.flush()"


METHOD = {
    "unit": "lines",
    "window_ms": 40.0,
    "windows": 100,
    "dropped": 1,
    "real_time": True,
    "seed": 1,
    "took_s": 8.0,
}


def share(value: float, half: float = 0.01) -> dict[str, float]:
    return {"value": value, "low": value - half, "high": value + half, "windows": 5}


def card(name: str, lost: dict[str, float], taken: dict[str, float], *, model: int = 17) -> dict:
    return {
        "schema": "hindmost.profile/2",
        "name": name,
        "command": [name],
        "processor": {"vendor": "AuthenticAMD", "family": 25, "model": model, "name": "AMD EPYC"},
        "placement": "near",
        "rate_per_s": 1000.0,
        "spread": 0.01,
        "presence": share(0.0),
        "axes": [
            {
                "stressor": stressor,
                "sensitivity": share(lost[stressor]),
                "contentiousness": share(taken[stressor]),
            }
            for stressor in lost
        ],
        "noise": 0.01,
        "method": METHOD,
        "notes": [],
    }


SERVER = card("kv", {"l3": 0.12, "dram": 0.02}, {"l3": 0.0, "dram": 0.0})


@each_row(
    ("taken", "answer"),
    [
        # Touches nothing, memory only (costs the server 3 % at most), the cache (13 %).
        ({"l3": -0.02, "dram": -0.02}, "yes"),
        ({"l3": -0.02, "dram": 0.6}, "yes"),
        ({"l3": 0.3, "dram": 0.6}, "unknown"),
    ],
)
def test_a_job_may_run_where_what_it_takes_costs_less_than_is_allowed(taken, answer):
    job = card("zstd", {"l3": 0.0, "dram": 0.0}, taken)
    found = judge_pair(job, SERVER, within=0.10, load=0.5)
    assert found["answer"] == answer
    assert found["allowed"] == pytest.approx(0.5 * 0.1 / 1.1)
    assert render_answer(decide(job, SERVER, within=0.10, load=0.5), width=100, color=False).startswith(
        answer
    )
    assert 'job="zstd",server="kv"' in prometheus_text(found)


TEN = [f"r{k}" for k in range(10)]


def ten(server: dict[str, float], taken: dict[str, float], grown: dict[str, dict[str, float]] | None = None):
    """A server that loses alike to each of ten resources, and a job that takes the same of each."""
    job, kv = (card(name, dict.fromkeys(TEN, 0.0), dict.fromkeys(TEN, 0.0)) for name in ("job", "kv"))
    for axis, other in zip(job["axes"], kv["axes"], strict=True):
        axis["contentiousness"], other["sensitivity"] = taken, server
        if grown is not None:
            other["latency"] = grown
    if grown is not None:
        kv["loaded"] = {"busy": 0.5, "presence": {"p50": share(0.0, 0.0), "p99": share(0.0, 0.0)}}
    return job, kv


def ends(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": value, "low": low, "high": high}


def test_losses_to_several_resources_add_up():
    found = decide(*ten(ends(0.04, 0.03, 0.045), share(1.0, 0.0)), within=0.1, load=0.5)
    assert (found["answer"], found["measure"]) == ("unknown", "rate")
    assert found["expected"] == pytest.approx(0.4)
    assert found["worst"] == pytest.approx(0.45)
    little = decide(*ten(ends(0.04, 0.03, 0.045), share(0.05, 0.01)), within=0.1, load=0.5)
    assert (little["answer"], little["expected"]) == ("yes", pytest.approx(0.02))
    assert [note["code"] for note in little["notes"]] == ["no-server-latency"]


def test_a_server_whose_percentiles_grow_is_bounded_by_them_and_not_by_its_rate():
    nothing = share(0.0, 0.001)
    p50, p99 = ends(0.57, 0.55, 0.59), ends(0.35, -0.02, 0.88)
    for grown, measure in (({"p50": p50, "p99": nothing}, "p50"), ({"p50": nothing, "p99": p99}, "p99")):
        found = decide(*ten(nothing, share(0.3), grown), within=0.1, load=0.5)
        assert (found["answer"], found["measure"]) == ("unknown", measure)
        assert found["worst"] > found["allowed"]
    found = decide(*ten(nothing, share(0.3), {"p50": nothing, "p99": nothing}), within=0.1, load=0.5)
    assert (found["answer"], found["notes"]) == ("yes", [])
    lost = decide(*ten(nothing, share(0.3), {"p50": nothing, "p99": None}), within=0.1, load=0.5)
    assert (lost["answer"], lost["notes"][0]["code"]) == ("unknown", "missing-axes")


def test_growth_at_the_load_of_the_profile_is_carried_to_the_load_that_is_asked():
    one, job = share(0.2, 0.0), share(1.0, 0.0)
    _, kv = ten(share(0.0, 0.0), job, {"p50": one, "p99": one})
    kv["axes"] = kv["axes"][:1]
    at = {
        load: judge_pair(ten(one, job)[0], kv, within=0.25, load=load)["answer"] for load in (0.4, 0.5, 0.7)
    }
    # Beside the stressor the percentiles of an M/M/1 at half load grow by a fifth: it lost a twelfth of its rate.
    assert judge_pair(ten(one, job)[0], kv, within=0.25, load=0.5)["worst"] == pytest.approx(1 / 12)
    assert at == {0.4: "yes", 0.5: "yes", 0.7: "unknown"}


def test_a_profile_that_tells_nothing_is_no_good_neighbour():
    _, kv = ten(share(0.1), share(0.0))
    known = {**ten(share(0.1), share(0.5))[0], "name": "known"}
    wide = {**ten(share(0.1), share(0.0, 1.76))[0], "name": "wide"}
    noisy = {**ten(share(0.1), share(0.0))[0], "name": "noisy", "noise": 1.76}
    found = rank_jobs(kv, [wide, noisy, known], within=0.1, load=0.5)["jobs"]
    assert (found[0]["job"], found[0]["answer"], found[0]["expected"]) == (
        "known",
        "unknown",
        pytest.approx(0.5),
    )
    assert {one["notes"][0]["code"] for one in found[1:]} == {"noisy-profile"}
    assert [one["expected"] for one in found[1:]] == [None, None]


def test_presence_that_costs_too_much_is_a_no():
    server = {**SERVER, "presence": share(0.2)}
    job = card("zstd", {"l3": 0.0, "dram": 0.0}, {"l3": 0.0, "dram": 0.0})
    assert judge_pair(job, server, within=0.10, load=0.5)["answer"] == "no"


def test_cards_of_different_processors_are_refused_and_other_placements_leave_it_open():
    job = card("zstd", {"l3": 0.0}, {"l3": 0.0}, model=1)
    with raises(UsageError, "other-processor", shared=[]):
        judge_pair(job, SERVER, within=0.1, load=0.5)
    taking = card("zstd", {"l3": 0.0}, {"l3": 0.4}, model=1)
    with raises(UsageError, "other-processor", shared=["l3"]):
        judge_pair(taking, SERVER, within=0.1, load=0.5)
    far = {**card("zstd", {"l3": 0.0, "dram": 0.0}, {"l3": 0.0, "dram": 0.0}), "placement": "far"}
    found = judge_pair(far, SERVER, within=0.1, load=0.5)
    assert (found["answer"], [note["code"] for note in found["notes"]]) == (
        "unknown",
        ["different-placements"],
    )


def test_axes_that_a_profile_lacks_leave_the_answer_open():
    found = judge_pair(card("zstd", {"l3": 0.0}, {"l3": 0.0}), SERVER, within=0.1, load=0.5)
    assert found["answer"] == "unknown"
    assert [(note["code"], note["values"]["axes"]) for note in found["notes"]] == [("missing-axes", ["dram"])]


def test_what_is_no_card_is_refused(tmp_path: Path, capsys):
    with raises(UsageError, "bad-file", path="x.json", value=None):
        read_card("{}", "x.json")
    with raises(UsageError, "bad-file", path="x.json", value="hindmost.trace/2"):
        read_card('{"schema": "hindmost.trace/2"}', "x.json")
    for name, one in (
        ("job", card("zstd", {"l3": 0.0, "dram": 0.0}, {"l3": 0.5, "dram": 0.0})),
        ("kv", SERVER),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(one), encoding="utf-8")
    assert main(["colocate", "predict", f"{tmp_path}/kv.json", f"{tmp_path}/job.json", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["stressor"] == "l3"
    nowhere = f"{tmp_path}/nowhere.json"
    words = ["colocate", "predict", f"{tmp_path}/kv.json", nowhere]
    assert_refused(words, capsys, 2, "no-such-file", path=nowhere)


def test_cards_become_profiles_on_the_stressors_that_all_have():
    other = card("zstd", {"l3": 0.3}, {"l3": 0.5})
    found = profiles_from_cards([SERVER, other])
    assert found.stressors == ("l3",)
    assert found.sensitivity[:, 0] == pytest.approx([0.12, 0.3])
    assert found.sensitivity_sd is not None
    assert found.sensitivity_sd[0, 0] == pytest.approx(0.02 / 3.92)


def looks(after: str = "near", before: str = "near", ghz: float = 3.7) -> tuple[CpuReading, CpuReading]:
    return CpuReading(before, (3.7, 3.7)), CpuReading(after, (3.7, ghz))


def seen(stressor: str, program: float | None, *, alike: bool = True) -> WindowResult:
    return WindowResult(stressor, True, program, None, looks("near" if alike else "far"), False)


def test_loss_is_told_within_rounds_and_windows_around_a_move_do_not_count():
    rounds = [[seen("null", base), seen("l3", 0.9 * base)] for base in (100.0, 150.0, 80.0, 120.0)]
    rounds.append([seen("null", 100.0), seen("l3", 89.9, alike=False)])
    found = shares_lost(rounds, "l3", "program", ("null", True))
    assert found is not None
    assert found["windows"] == 4
    assert found["value"] == pytest.approx(0.1)
    assert shares_lost(rounds[:2], "l3", "program", ("null", True)) is None


def test_a_window_that_lost_its_processor_unseen_does_not_move_the_figure():
    rounds = [[seen("null", 100.0), seen("l3", 90.0 + k)] for k in range(5)]
    rounds.append([seen("null", 100.0), seen("l3", 2.0)])
    found = shares_lost(rounds, "l3", "program", ("null", True))
    assert found is not None
    assert found["value"] == pytest.approx(0.08, abs=0.01)


def test_a_card_has_its_rate_and_placement_from_windows_that_no_move_touched():
    rounds = [[seen("null", 100.0), seen("l3", 90.0)] for _ in range(4)]
    moved = WindowResult("null", True, 1.0, None, looks("near", "far"), False)
    given = Note("children-not-counted", "")
    found = profiles._card([*rounds, *([[moved]] * 5)], ["l3"], ["kv"], None, METHOD, [given], "print")
    assert found["rate_per_s"] == 100.0
    assert found["spread"] == 0.0
    assert found["placement"] == "near"
    assert [note["code"] for note in found["notes"]] == ["children-not-counted"]
    with raises(Inconclusive, "few-windows", have=0, windows=5):
        profiles._card([[moved]] * 5, ["l3"], ["kv"], None, METHOD, [], "print")


@pytest.mark.nightly  # a program must get a processor for its windows
@pytest.mark.parametrize(
    ("then", "most", "least"),
    [("while True: pass", "silent", "starved"), ("import time; time.sleep(600)", "starved", "silent")],
)
def test_units_that_stop_and_a_program_that_waits_are_told_apart(then, most, least, monkeypatch):
    monkeypatch.setattr(windows, "LEAST_CPU", 0.02)  # a busy host leaves the spinning one at least that
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor only")
    code = f"for _ in range(9): print('.', flush=True)\n{then}"
    with raises(Inconclusive, "few-windows") as refused:
        # In real time it would keep every other test from a processor. Long beside what a busy host takes to begin it.
        profiles.profile(
            [sys.executable, "-c", code], stressors=["int_add"], window_ms=10, budget_s=2, real_time=False
        )
    fields = refused.value.fields
    assert fields[most] > 0
    assert fields[most] >= fields[least], refused.value


def test_a_command_whose_quotation_is_open_is_refused(capsys):
    assert_refused(["colocate", "profile", "sh -c 'x"], capsys, 2, "bad-value", value="sh -c 'x")


@pytest.mark.nightly  # a program must get a processor for its windows
def test_a_program_is_profiled_and_nothing_of_it_is_left(monkeypatch):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor only")
    # Windows count whatever a busy host does to them: in 100 ms, it leaves some of a processor.
    monkeypatch.setattr(windows, "LEAST_CPU", 0.0)
    monkeypatch.setattr(windows.WindowResult, "is_usable", True)
    found = profiles.profile(
        [sys.executable, "-c", WORKS], stressors=["int_add"], window_ms=100, budget_s=1, real_time=False
    )
    assert found["rate_per_s"] > 0
    assert [axis["stressor"] for axis in found["axes"]] == ["int_add"]
    assert "ordinary-threads" in [note["code"] for note in found["notes"]]
    assert "int_add" in render_profile(found, width=100, color=False)


def test_a_program_that_is_over_is_told_and_a_silent_one_too(monkeypatch):
    from hindmost.studies.colocation import subject

    with (
        raises(TargetError, "program-ended", exit_status=3),
        Subject([sys.executable, "-c", "raise SystemExit(3)"], 0),
    ):
        pass
    monkeypatch.setattr(subject, "_FIRST_UNIT_S", 0.3)
    with raises(TargetError, "few-units", have=0, unit="lines"), Subject(["sleep", "60"], 0):
        pass
    with raises(TargetError, "missing-program", name="/nowhere/program"):
        Subject(["/nowhere/program"], 0)


def test_a_program_that_ends_during_its_profile_is_told():
    with Subject(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo; done"], 0) as one:
        wait_for(lambda: one._program.ending() is not None, "the program has ended")
        with raises(TargetError, "program-ended", exit_status=0, window=7, beside="l3"):
            one.count("in window 7", 7, "l3")


def test_a_paused_program_is_ended_too():
    one = Subject([sys.executable, "-c", WORKS], 0)
    with one:
        pid = one._program.pid
        one.pause()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def asked(p50_us: float, p99_us: float) -> ProbeResult:
    return ProbeResult(1000, 0, 0.1, p50_us, p99_us)


def under_load(stressor: str, p50_us: float, p99_us: float, *, alike: bool = True) -> WindowResult:
    return WindowResult(
        stressor, True, 1.0, None, looks("near" if alike else "far"), False, None, asked(p50_us, p99_us)
    )


def test_percentiles_grow_within_rounds_and_a_halved_one_is_as_far_as_a_doubled_one():
    bases = (100.0, 150.0, 80.0, 120.0)
    rounds = [[under_load("null", base, 9 * base), under_load("l3", 1.1 * base, 18 * base)] for base in bases]
    rounds.append([under_load("null", 100.0, 900.0), under_load("l3", 110.0, 1800.0, alike=False)])
    rounds.append([under_load("null", 100.0, math.inf), under_load("l3", 110.0, 1800.0)])
    found = growth(rounds, "l3", "null")
    assert found["p50"] is not None
    assert found["p99"] is not None
    assert found["p50"]["value"] == pytest.approx(0.1)
    assert (found["p50"]["windows"], found["p99"]["windows"]) == (5, 4), "no figure where too many failed"
    assert found["p99"]["value"] == pytest.approx(1.0)
    swings = [[under_load("null", 100.0, 100.0), under_load("l3", 100.0, p99)] for p99 in (50.0, 200.0) * 3]
    assert growth(swings, "l3", "null")["p99"]["value"] == pytest.approx(0.0)
    assert growth(rounds[:2], "l3", "null")["p99"] is None


@pytest.mark.parametrize("rounds", [4, 5, 8, 16])
def test_intervals_of_few_rounds_hold_the_truth(rounds):
    """Of 1,000 normal draws 95 %: below 92.5 % by chance once in 6,000 (three deviations of 0.7 % are 2.1 %)."""
    draw = random.Random(rounds)
    held = 0
    for _ in range(1000):
        losses = [draw.gauss(0.1, 0.1) for _ in range(rounds)]
        found = shares_lost(
            [[seen("null", 1.0), seen("l3", 1 - one)] for one in losses], "l3", "program", ("null", True)
        )
        assert found is not None
        held += found["low"] <= 0.1 <= found["high"]
    assert held >= 925


def test_an_interval_from_nothing_to_much_is_told_as_undecided():
    noisy = card("xz", {"l3": 0.1, "dram": 0.0, "l2": 0.2}, {"l3": 0.0, "dram": 0.0, "l2": 0.0})
    noisy["axes"][0]["sensitivity"] = share(0.1, 0.21)
    (note,) = profiles.doubt_notes(noisy["axes"])
    assert (note.code, note.values) == ("undecided-axes", {"axes": ["l3"], "least": 0.05})
    assert profiles.doubt_notes(SERVER["axes"]) == []


def test_a_card_without_any_figure_says_so_and_not_how_fine_its_figures_are():
    axes = [{**axis, "sensitivity": None} for axis in SERVER["axes"]]
    assert [note.code for note in profiles.doubt_notes(axes)] == ["no-losses"]
    assert "12.3%" in render_profile({**SERVER, "noise": 0.123}, width=200, color=False)
    assert "12.3%" not in render_profile({**SERVER, "axes": axes, "noise": 0.123}, width=200, color=False)


def test_placement_is_that_of_most_windows_that_no_move_touched_and_a_mixture_is_noted():
    def seen(*pairs):
        return [WindowResult("null", True, 1.0, 1.0, pair, False) for pair in pairs]

    near, far, moved = looks(), looks("far", "far"), looks("far")
    assert placement_of(seen(near, near, moved)) == ("near", [])
    place, notes = placement_of(seen(near, far, far))
    assert place == "far"
    assert [(note.code, note.values["known"]) for note in notes] == [("mixed-placements", ["far", "near"])]
    assert placement_of(seen(moved)) == ("unknown", [])
