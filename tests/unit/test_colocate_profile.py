"""Profiles: programs next to stressors, and what two profiles guarantee."""

import json
import math
import os
import random
import sys
from pathlib import Path

import pytest
from measuring import wait_for
from messages import assert_refused, raises
from msgspec.structs import replace
from profile_cards import METHOD, OTHER_PROCESSOR, axis, card, interval, share, under_load, write_card
from rows import each_row

from hindmost.cli import main
from hindmost.commands.colocate import profile as profiles
from hindmost.commands.colocate import windows
from hindmost.commands.colocate.documents.profiles import Growth, Profile
from hindmost.commands.colocate.documents.stored import load_card
from hindmost.commands.colocate.prediction.bound import judge_pair
from hindmost.commands.colocate.prediction.decision import decide, rank_jobs
from hindmost.commands.colocate.prediction.profiles import profiles_from_cards
from hindmost.commands.colocate.server import ProbeResult
from hindmost.commands.colocate.shares import growth, shares_lost
from hindmost.commands.colocate.subject import Subject
from hindmost.commands.colocate.view.decision import prometheus_text, view_answer
from hindmost.commands.colocate.view.profile import view_profile
from hindmost.commands.colocate.windows import CpuReading, WindowResult, placement_of
from hindmost.core.notes import Note
from hindmost.errors import Inconclusive, TargetError, UsageError
from hindmost.present.terminal import render_terminal

WORKS = "import zlib, sys\nwhile True:\n zlib.compress(b'x' * 9999)\n sys.stdout.write('.\\n')\n sys.stdout.flush()"


SERVER = card("kv", {"l3": 0.12, "dram": 0.02}, {"l3": 0.0, "dram": 0.0})


@each_row(
    ("pressure", "answer"),
    [
        # No pressure; memory only (costs the server 3 % at most); the cache (costs 13 %).
        ({"l3": -0.02, "dram": -0.02}, "yes"),
        ({"l3": -0.02, "dram": 0.6}, "yes"),
        ({"l3": 0.3, "dram": 0.6}, "unknown"),
    ],
)
def test_a_job_is_accepted_if_its_pressure_costs_less_than_allowed(pressure, answer):
    job = card("zstd", {"l3": 0.0, "dram": 0.0}, pressure)
    result = judge_pair(job, SERVER, within=0.10, load=0.5)
    assert result.answer == answer
    assert result.allowed == pytest.approx(0.5 * 0.1 / 1.1)
    assert view_answer(decide(job, SERVER, within=0.10, load=0.5)).word == answer
    assert f'hindmost_colocation_loss_bound{{job="zstd",server="kv"}} {result.worst:g}\n' in prometheus_text(
        result
    )


TEN = [f"r{k}" for k in range(10)]


def ten(server, pressure, growth_by_percentile: Growth | None = None) -> tuple[Profile, Profile]:
    """Return a job that puts equal pressure on ten resources, and a server with equal losses to each."""
    job = card("job", axes=[axis(one, share(0.0), pressure) for one in TEN])
    if growth_by_percentile is None:
        return job, card("kv", axes=[axis(one, server, share(0.0)) for one in TEN])
    axes = [axis(one, server, share(0.0), growth_by_percentile) for one in TEN]
    return job, card("kv", axes=axes, loaded=under_load(0.5, share(0.0, 0.0), share(0.0, 0.0)))


def test_losses_to_several_resources_add_up():
    result = decide(*ten(interval(0.04, 0.03, 0.045), share(1.0, 0.0)), within=0.1, load=0.5)
    assert (result.answer, result.measure) == ("unknown", "rate")
    assert result.expected == pytest.approx(0.4)
    assert result.worst == pytest.approx(0.45)
    little = decide(*ten(interval(0.04, 0.03, 0.045), share(0.05, 0.01)), within=0.1, load=0.5)
    assert (little.answer, little.expected) == ("yes", pytest.approx(0.02))
    assert [note.code for note in little.notes] == ["no-server-latency"]


def test_a_server_whose_percentiles_grow_is_bounded_by_them_and_not_by_its_rate():
    no_growth = share(0.0, 0.001)
    p50, p99 = interval(0.57, 0.55, 0.59), interval(0.35, -0.02, 0.88)
    for growth_by_percentile, measure in (
        (Growth(p50=p50, p99=no_growth), "p50"),
        (Growth(p50=no_growth, p99=p99), "p99"),
    ):
        result = decide(*ten(no_growth, share(0.3), growth_by_percentile), within=0.1, load=0.5)
        assert (result.answer, result.measure) == ("unknown", measure)
        assert result.worst > result.allowed
    result = decide(*ten(no_growth, share(0.3), Growth(p50=no_growth, p99=no_growth)), within=0.1, load=0.5)
    assert (result.answer, result.notes) == ("yes", [])
    lost = decide(*ten(no_growth, share(0.3), Growth(p50=no_growth, p99=None)), within=0.1, load=0.5)
    assert (lost.answer, lost.notes[0].code) == ("unknown", "missing-axes")


def test_growth_at_the_profiled_load_is_converted_to_the_requested_load():
    loss, pressure = share(0.2, 0.0), share(1.0, 0.0)
    job, kv = ten(share(0.0, 0.0), pressure, Growth(p50=loss, p99=loss))
    kv = replace(kv, axes=kv.axes[:1])
    at = {load: judge_pair(job, kv, within=0.25, load=load).answer for load in (0.4, 0.5, 0.7)}
    # Next to the stressor, percentiles of an M/M/1 at half load grow by a fifth: it lost a twelfth of its rate.
    assert judge_pair(job, kv, within=0.25, load=0.5).worst == pytest.approx(1 / 12)
    assert at == {0.4: "yes", 0.5: "yes", 0.7: "unknown"}


def test_an_imprecise_profile_is_ranked_last():
    _, kv = ten(share(0.1), share(0.0))
    precise = replace(ten(share(0.1), share(0.5))[0], name="precise")
    wide = replace(ten(share(0.1), share(0.0, 1.76))[0], name="wide")
    noisy = replace(ten(share(0.1), share(0.0))[0], name="noisy", noise=1.76)
    first, *others = rank_jobs(kv, [wide, noisy, precise], within=0.1, load=0.5).jobs
    assert (first.job, first.answer, first.expected) == ("precise", "unknown", pytest.approx(0.5))
    assert {job.notes[0].code for job in others} == {"noisy-profile"}
    assert [job.expected for job in others] == [None, None]


def test_too_high_a_cost_of_presence_is_refused():
    server = replace(SERVER, presence=share(0.2))
    job = card("zstd", {"l3": 0.0, "dram": 0.0}, {"l3": 0.0, "dram": 0.0})
    assert judge_pair(job, server, within=0.10, load=0.5).answer == "no"


def test_profiles_of_different_cpus_are_refused_and_other_placements_are_undecided():
    job = card("zstd", {"l3": 0.0}, {"l3": 0.0}, processor=OTHER_PROCESSOR)
    with raises(UsageError, "other-processor", shared=[]):
        judge_pair(job, SERVER, within=0.1, load=0.5)
    taking = card("zstd", {"l3": 0.0}, {"l3": 0.4}, processor=OTHER_PROCESSOR)
    with raises(UsageError, "other-processor", shared=["l3"]):
        judge_pair(taking, SERVER, within=0.1, load=0.5)
    far = card("zstd", {"l3": 0.0, "dram": 0.0}, {"l3": 0.0, "dram": 0.0}, placement="far")
    result = judge_pair(far, SERVER, within=0.1, load=0.5)
    assert (result.answer, [note.code for note in result.notes]) == ("unknown", ["different-placements"])


def test_axes_that_a_profile_lacks_leave_the_answer_open():
    result = judge_pair(card("zstd", {"l3": 0.0}, {"l3": 0.0}), SERVER, within=0.1, load=0.5)
    assert result.answer == "unknown"
    assert [(note.code, note.values["axes"]) for note in result.notes] == [("missing-axes", ["dram"])]


def test_a_file_that_is_not_a_profile_is_refused(tmp_path: Path, capsys):
    for text, value in (
        ("[]", None),
        ("{}", None),
        ('{"schema": "hindmost.trace/2"}', "hindmost.trace/2"),
        ('{"schema": "hindmost.profile/2", "name": "kv"}', "hindmost.profile/2"),
    ):
        (tmp_path / "x.json").write_text(text)
        with raises(UsageError, "bad-file", path=f"{tmp_path}/x.json", value=value):
            load_card(tmp_path / "x.json")
    for profile in (card("job", {"l3": 0.0, "dram": 0.0}, {"l3": 0.5, "dram": 0.0}), SERVER):
        write_card(tmp_path, profile)
    assert main(["colocate", "predict", f"{tmp_path}/kv.json", f"{tmp_path}/job.json", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["stressor"] == "l3"
    nowhere = f"{tmp_path}/nowhere.json"
    command = ["colocate", "predict", f"{tmp_path}/kv.json", nowhere]
    assert_refused(command, capsys, 2, "no-such-file", path=nowhere)


def test_a_profile_of_version_0_1_is_read(tmp_path: Path):
    axes = [axis(one, share(0.1), share(0.2), Growth(p50=None, p99=share(0.3))) for one in ("l3", "dram")]
    path = Path(write_card(tmp_path, card("kv", axes=axes, loaded=under_load(0.5))))
    words = (("profile/2", "profile/1"), ('"stressor"', '"ruler"'), ("requested_per_s", "asked_per_s"))
    text = path.read_text().replace('"notes": []', '"notes": ["a sentence"]')
    for new, old in words:
        assert new in text
        text = text.replace(new, old)
    path.write_text(text)
    found = load_card(path)
    assert [note.text for note in found.notes] == ["a sentence"]
    assert replace(found, notes=[]) == card("kv", axes=axes, loaded=under_load(0.5))
    assert not found.rows


def test_profiles_are_combined_on_their_common_stressors():
    job = card("zstd", {"l3": 0.3}, {"l3": 0.5})
    result = profiles_from_cards([SERVER, job])
    assert result.stressors == ("l3",)
    assert result.sensitivity[:, 0] == pytest.approx([0.12, 0.3])
    assert result.sensitivity_sd is not None
    assert result.sensitivity_sd[0, 0] == pytest.approx(0.02 / 3.92)


def readings(after: str = "near", before: str = "near", ghz: float = 3.7) -> tuple[CpuReading, CpuReading]:
    return CpuReading(before, (3.7, 3.7)), CpuReading(after, (3.7, ghz))


def window_of(stressor: str, program: float | None, *, alike: bool = True) -> WindowResult:
    return WindowResult(stressor, True, program, None, readings("near" if alike else "far"), False)


def test_losses_are_computed_within_rounds_without_windows_around_a_move():
    rounds = [[window_of("null", base), window_of("l3", 0.9 * base)] for base in (100.0, 150.0, 80.0, 120.0)]
    rounds.append([window_of("null", 100.0), window_of("l3", 89.9, alike=False)])
    result = shares_lost(rounds, "l3", "program", ("null", True))
    assert result is not None
    assert result.windows == 4
    assert result.value == pytest.approx(0.1)
    assert shares_lost(rounds[:2], "l3", "program", ("null", True)) is None


def test_an_unnoticed_loss_of_the_cpu_does_not_change_the_figure():
    rounds = [[window_of("null", 100.0), window_of("l3", 90.0 + k)] for k in range(5)]
    rounds.append([window_of("null", 100.0), window_of("l3", 2.0)])
    result = shares_lost(rounds, "l3", "program", ("null", True))
    assert result is not None
    assert result.value == pytest.approx(0.08, abs=0.01)


def test_rate_and_placement_come_from_windows_without_a_move():
    rounds = [[window_of("null", 100.0), window_of("l3", 90.0)] for _ in range(4)]
    moved = WindowResult("null", True, 1.0, None, readings("near", "far"), False)
    note = Note("children-not-counted", "")
    result = profiles._card([*rounds, *([[moved]] * 5)], ["l3"], ["kv"], None, METHOD, [note], "print")
    assert result.rate_per_s == 100.0
    assert result.spread == 0.0
    assert result.placement == "near"
    assert [note.code for note in result.notes] == ["children-not-counted"]
    with raises(Inconclusive, "few-windows", have=0, windows=5):
        profiles._card([[moved]] * 5, ["l3"], ["kv"], None, METHOD, [], "print")


@pytest.mark.nightly  # the program needs a CPU for its windows
@pytest.mark.parametrize(
    ("ending", "most", "least"),
    [("while True: pass", "silent", "starved"), ("import time; time.sleep(600)", "starved", "silent")],
)
def test_a_silent_program_and_a_starved_program_are_distinguished(ending, most, least, monkeypatch):
    monkeypatch.setattr(windows, "LEAST_CPU", 0.02)  # a busy host leaves a spinning program at least this
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one CPU")
    code = f"for _ in range(9): print('.', flush=True)\n{ending}"
    with raises(Inconclusive, "few-windows") as caught:
        # Real time would keep other tests off the CPU. The windows are long compared with the start on a busy host.
        profiles.profile(
            [sys.executable, "-c", code], stressors=["int_add"], window_ms=10, budget_s=2, real_time=False
        )
    fields = caught.value.fields
    assert fields[most] > 0
    assert fields[most] >= fields[least], caught.value


def test_a_command_with_an_open_quotation_is_refused(capsys):
    assert_refused(["colocate", "profile", "sh -c 'x"], capsys, 2, "bad-value", value="sh -c 'x")


@pytest.mark.nightly  # the program needs a CPU for its windows
def test_a_program_is_profiled(monkeypatch):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one CPU")
    # Accept all windows on a busy host: in 100 ms, the program gets some CPU time.
    monkeypatch.setattr(windows, "LEAST_CPU", 0.0)
    monkeypatch.setattr(windows.WindowResult, "is_usable", True)
    result = profiles.profile(
        [sys.executable, "-c", WORKS], stressors=["int_add"], window_ms=100, budget_s=1, real_time=False
    )
    assert result.rate_per_s > 0
    assert [axis.stressor for axis in result.axes] == ["int_add"]
    assert "ordinary-threads" in [note.code for note in result.notes]
    assert "int_add" in render_terminal(view_profile(result), width=100)


def test_ended_silent_and_missing_programs_are_reported(monkeypatch):
    from hindmost.commands.colocate import subject

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


def test_a_program_that_ends_during_its_profile_is_reported():
    with Subject(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo; done"], 0) as program:
        wait_for(lambda: program._program.ending() is not None, "the program has ended")
        with raises(TargetError, "program-ended", exit_status=0, window=7, beside="l3"):
            program.count("in window 7", 7, "l3")


def test_a_paused_program_is_terminated():
    program = Subject([sys.executable, "-c", WORKS], 0)
    with program:
        pid = program._program.pid
        program.pause()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def probe_result(p50_us: float, p99_us: float) -> ProbeResult:
    return ProbeResult(1000, 0, 0.1, p50_us, p99_us)


def loaded_window(stressor: str, p50_us: float, p99_us: float, *, alike: bool = True) -> WindowResult:
    return WindowResult(
        stressor,
        True,
        1.0,
        None,
        readings("near" if alike else "far"),
        False,
        None,
        probe_result(p50_us, p99_us),
    )


def test_growth_is_the_mean_logarithm_within_rounds():
    bases = (100.0, 150.0, 80.0, 120.0)
    rounds = [
        [loaded_window("null", base, 9 * base), loaded_window("l3", 1.1 * base, 18 * base)] for base in bases
    ]
    rounds.append([loaded_window("null", 100.0, 900.0), loaded_window("l3", 110.0, 1800.0, alike=False)])
    rounds.append([loaded_window("null", 100.0, math.inf), loaded_window("l3", 110.0, 1800.0)])
    result = growth(rounds, "l3", "null")
    assert result.p50 is not None
    assert result.p99 is not None
    assert result.p50.value == pytest.approx(0.1)
    assert (result.p50.windows, result.p99.windows) == (5, 4), "no figure where too many failed"
    assert result.p99.value == pytest.approx(1.0)
    swings = [
        [loaded_window("null", 100.0, 100.0), loaded_window("l3", 100.0, p99)] for p99 in (50.0, 200.0) * 3
    ]
    assert growth(swings, "l3", "null").p99.value == pytest.approx(0.0)
    assert growth(rounds[:2], "l3", "null").p99 is None


@pytest.mark.parametrize("rounds", [4, 5, 8, 16])
def test_intervals_of_few_rounds_cover_the_truth(rounds):
    """Of 1,000 normal draws 95 % are covered: below 92.5 % happens once in 6,000 (three deviations of 0.7 %)."""
    draw = random.Random(rounds)
    covered = 0
    for _ in range(1000):
        losses = [draw.gauss(0.1, 0.1) for _ in range(rounds)]
        result = shares_lost(
            [[window_of("null", 1.0), window_of("l3", 1 - loss)] for loss in losses],
            "l3",
            "program",
            ("null", True),
        )
        assert result is not None
        covered += result.low <= 0.1 <= result.high
    assert covered >= 925


def test_a_wide_interval_is_noted_as_undecided():
    noisy = card("xz", {"dram": 0.0, "l2": 0.2}, {"dram": 0.0, "l2": 0.0})
    (note,) = profiles.doubt_notes([axis("l3", share(0.1, 0.21), share(0.0)), *noisy.axes])
    assert (note.code, note.values) == ("undecided-axes", {"axes": ["l3"], "least": 0.05})
    assert profiles.doubt_notes(SERVER.axes) == []


def test_a_profile_without_figures_is_noted_and_shows_no_precision():
    axes = [replace(axis, sensitivity=None) for axis in SERVER.axes]
    assert [note.code for note in profiles.doubt_notes(axes)] == ["no-losses"]
    known, unknown = replace(SERVER, noise=0.123), replace(SERVER, axes=axes, noise=0.123)
    assert "12.3\u202f%" in render_terminal(view_profile(known), width=200)
    assert "12.3\u202f%" not in render_terminal(view_profile(unknown), width=200)


def test_placement_is_that_of_most_windows_and_a_mixture_is_noted():
    def windows_with(*pairs):
        return [WindowResult("null", True, 1.0, 1.0, pair, False) for pair in pairs]

    near, far, moved = readings(), readings("far", "far"), readings("far")
    assert placement_of(windows_with(near, near, moved)) == ("near", [])
    place, notes = placement_of(windows_with(near, far, far))
    assert place == "far"
    assert [(note.code, note.values["known"]) for note in notes] == [("mixed-placements", ["far", "near"])]
    assert placement_of(windows_with(moved)) == ("unknown", [])
