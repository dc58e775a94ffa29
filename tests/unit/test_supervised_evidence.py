"""What supervision learns: how windows become evidence, how it is stored, and what it decides."""

import json
import math
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from messages import assert_refused, raises
from msgspec.structs import replace
from profile_cards import OTHER_PROCESSOR, write_card
from rows import each_row
from supervised_blocks import block, latency, minutes, write_blocks
from test_colocation_kubernetes import CARDS

from hindmost.cli import main
from hindmost.commands.colocate.documents.stored import SupervisedBlocks, load_supervised, supervised_path
from hindmost.commands.colocate.prediction.advice import advise
from hindmost.commands.colocate.prediction.decision import decide
from hindmost.commands.colocate.prediction.observation import Observations, Promise
from hindmost.commands.colocate.program import identify_command, identify_process
from hindmost.commands.colocate.supervision.controller import Rules
from hindmost.commands.colocate.supervision.learning import (
    WindowCounts,
    count_windows,
    describe_block,
    record_evidence,
)
from hindmost.commands.colocate.supervision.procedure import SuperviseRequest, WindowOutcome
from hindmost.commands.colocate.supervision.windows import Window
from hindmost.commands.colocate.view.decision import prometheus_text
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.core.documents import append_line
from hindmost.errors import UsageError

LIMIT, QUIET, BROKEN = 1000.0, 500.0, 1500.0
KV, CACHE, QUIET_JOB = CARDS["kv"], CARDS["cache"], CARDS["quiet"]


def window(value: float, granted: int = 2, *, most: int = 2, cut: bool = False, used: float = 1.0):
    """Return a window of a second whose requests all had this latency, with the job on these CPUs."""
    return WindowOutcome(
        Window(0, 10**9, 100, 0, value, [value] * 100), granted, granted, most, cut, used, 0.0, None
    )


def count(*windows, adapted=True) -> WindowCounts:
    return count_windows(windows, LIMIT, 1.0, adapted=adapted)


@each_row(
    ("windows", "counts"),
    [
        ([window(QUIET)] * 3, WindowCounts(judged=3)),
        # With less than its full share, or without CPU time, a job that does no harm shows nothing.
        ([window(QUIET, 1), window(QUIET, used=0.05)], WindowCounts()),
        ([window(BROKEN, 1)], WindowCounts(judged=1, broken=1)),
        # After a violation it is not known what an unthrottled job would have done.
        (
            [window(QUIET), window(BROKEN), window(QUIET, 0), window(QUIET, 1), window(QUIET)],
            WindowCounts(judged=2, broken=1, prevented=3),
        ),
        ([window(QUIET, cut=True), window(QUIET)], WindowCounts(prevented=2)),
        # The first window of a pause may still suffer from the job.
        ([window(BROKEN, 0), window(BROKEN, 0), window(QUIET, 0)], WindowCounts(alone=2, alone_broken=1)),
    ],
)
def test_windows_count_by_what_they_show(windows, counts):
    assert count(*windows) == counts


def test_a_job_with_a_fixed_share_shows_how_long_violations_last():
    windows = [window(BROKEN), window(BROKEN), window(QUIET)]
    assert count(*windows, adapted=False) == WindowCounts(judged=3, broken=2)


def test_a_block_has_medians_with_and_without_the_job():
    windows = [window(QUIET), window(600.0), window(700.0), window(math.inf), window(300.0, 0)]
    result = describe_block(block(), windows, 0.25)
    assert (result.windows, result.judged, result.broken, result.load) == (5, 4, 1, 0.25)
    assert (result.latency, result.latency_alone) == (latency(600.0), latency(300.0))
    assert result.used_s == 5.0
    assert describe_block(block(), [window(math.inf)], None).latency is None


APPEND = """
import os, sys
from hindmost.core.documents import append_line
handle = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)
for k in range(30):
    append_line(handle, sys.argv[2].encode() * 5000)
"""


def test_lines_of_concurrent_writers_stay_whole(tmp_path):
    path = tmp_path / "lines"
    path.touch()
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, str(path), one]) for one in "abc"]
    assert [one.wait(60) for one in writers] == [0, 0, 0]
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(one * 5000 for one in "abc" for _ in range(30))


def test_a_torn_line_is_ended_and_not_joined_with_the_next(tmp_path):
    path = write_blocks(tmp_path / "kv.json", [block()])
    with path.open("ab") as file:
        file.write(msgspec.json.encode(block())[:99])
    with path.open("ab+") as file:
        append_line(file.fileno(), msgspec.json.encode(block(job="later")))
    found = load_supervised(tmp_path / "kv.json")
    assert ([one.job for one in found.blocks], found.unreadable) == (["cache", "later"], 1)


FULL = """
import os, resource, signal, sys
from hindmost.core.documents import append_line
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
handle = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)
append_line(handle, b"a" * 60)
try:
    append_line(handle, b"b" * 60)
except OSError as error:
    print(error.errno)
"""


def test_a_line_without_space_is_removed_whole(tmp_path):
    path = tmp_path / "lines"
    path.touch()
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    assert path.read_text() == "a" * 60 + "\n"


def request(**changes) -> SuperviseRequest:
    fields = {
        "application": Application("kv", None),
        "latency": LatencySource({}, ""),
        "job": [sys.executable, "-c", "pass"],
        "rules": Rules(LIMIT),
        "quantile": 0.99,
        "window_s": 20.0,
    }
    return SuperviseRequest(**fields | changes)


def test_windows_are_kept_next_to_the_profile_in_blocks_of_a_minute(tmp_path):
    profile = Path(write_card(tmp_path, KV))
    for fixed in (None, 2):
        with record_evidence(profile, "batch", request(fixed=fixed)) as recorder:
            for _ in range(7):
                recorder.add(window(QUIET, used=19.0))
        assert (recorder.fault, recorder.path) == (None, supervised_path(profile))
    blocks = load_supervised(profile).blocks
    assert [one.windows for one in blocks] == [3, 3, 1] * 2
    assert [one.adapted for one in blocks] == [True] * 3 + [False] * 3
    assert len({one.session for one in blocks}) == 2
    first = blocks[0]
    assert (first.server, first.job, first.percentile, first.limit_us) == ("kv", "batch", 99.0, LIMIT)
    assert (first.judged, first.processors, first.window_s) == (3, 2, 20.0)
    assert first.job_program == identify_command([sys.executable])
    assert stat.S_IMODE(supervised_path(profile).stat().st_mode) & 0o022 == 0


def test_blocks_are_kept_if_the_supervision_fails(tmp_path):
    profile = Path(write_card(tmp_path, KV))

    def fail_after_a_window() -> None:
        with record_evidence(profile, None, request()) as recorder:
            recorder.add(window(QUIET))
            raise KeyError

    with pytest.raises(KeyError):
        fail_after_a_window()
    assert [one.windows for one in load_supervised(profile).blocks] == [1]


def test_a_file_that_cannot_be_written_is_refused_before_the_job_starts(tmp_path, capsys):
    profile = Path(write_card(tmp_path, KV))
    supervised_path(profile).symlink_to(tmp_path / "elsewhere")
    with raises(UsageError, "unwritable-file", option="--learn"), record_evidence(profile, None, request()):
        pytest.fail("a link was followed")
    with raises(UsageError, "no-such-file"), record_evidence(tmp_path / "none.json", None, request()):
        pytest.fail("there is no profile")
    command = ["colocate", "supervise", "1", "sleep 1", "--promise", "p90<1ms", "--name", "x"]
    assert_refused(command, capsys, 2, "missing-argument", option="--learn")


def judge(blocks, *, job=CACHE, server=KV, load=0.5, violations=0.05, unreadable=0, **more):
    observations = Observations(SupervisedBlocks(blocks, unreadable), **more)
    return decide(job, server, within=0.1, load=load, violations=violations, observations=observations)


def reasons(answer) -> list[tuple[str, int]]:
    return [
        (note.values["reason"], note.values["count"])
        for note in answer.notes
        if note.code == "unused-evidence"
    ]


def test_enough_windows_turn_unknown_into_yes_at_this_rate():
    assert decide(CACHE, KV, within=0.1, load=0.5).answer == "unknown"
    few, many = judge(minutes(30)), judge(minutes(90))
    assert (few.answer, few.by) == ("unknown", "bound")
    assert (many.answer, many.by, many.violations) == ("yes", "supervised", 0.05)
    found = many.evidence.supervised
    assert (found.windows, found.hours, found.effective, found.broken) == (5400, 1.5, 90.0, 0.0)
    # The exact binomial bound of no violation in 90 independent windows.
    assert found.bound == pytest.approx(1 - 0.05 ** (1 / 90))
    assert (found.percentile, found.limit_us, found.processors, found.load) == (99.0, 1000.0, 2, 0.5)
    assert (found.first, found.last) == ("2026-11-20T00:00:00Z", "2026-11-20T01:29:00Z")
    assert judge(minutes(90), violations=0.02).answer == "unknown"


def test_observed_violations_turn_unknown_and_a_predicted_yes_into_no():
    bad = minutes(60, broken=20)
    for job in (CACHE, QUIET_JOB):
        blocks = [replace(one, job=job.name) for one in bad]
        answer = judge(blocks, job=job)
        assert (answer.answer, answer.by) == ("no", "supervised")
        assert 0.2 < answer.evidence.supervised.least < 1 / 3


def test_a_predicted_yes_does_not_hold_against_more_violations_than_allowed():
    blocks = minutes(5, job="quiet", broken=6)
    assert decide(QUIET_JOB, KV, within=0.1, load=0.5).answer == "yes"
    assert judge(minutes(5, job="quiet"), job=QUIET_JOB).answer == "yes", "too few windows decide nothing"
    answer = judge(blocks, job=QUIET_JOB)
    assert (answer.answer, answer.by) == ("unknown", "supervised")


def test_prevented_windows_count_against_a_yes_and_not_for_a_no():
    answer = judge(minutes(90, judged=30, prevented=30))
    assert answer.answer == "unknown"
    assert (answer.evidence.supervised.broken, answer.evidence.supervised.least) == (0.5, 0.0)


def test_a_server_that_exceeds_its_limit_without_the_job_is_not_blamed_on_it():
    blocks = minutes(60, judged=30, broken=10, alone=30, alone_broken=12)
    answer = judge(blocks)
    assert (answer.answer, answer.by) == ("unknown", "bound")
    assert answer.notes[-1].code == "broken-without-job"
    assert answer.notes[-1].values["share"] == pytest.approx(0.4)
    assert judge(minutes(60, judged=30, broken=10, alone=30)).answer == "no"


def test_blocks_that_depend_on_each_other_are_worth_fewer_windows():
    slow = [replace(one, latency=latency(900.0)) for one in minutes(45)]
    sessions = [*minutes(45), *(replace(one, session="second") for one in slow)]
    found = judge(sessions).evidence.supervised
    assert found.effective < 20
    assert found.bound > 0.14
    idle = [replace(one, session="third", judged=0, latency=latency(50.0)) for one in minutes(9)]
    assert judge([*minutes(90), *idle]).evidence.supervised.effective == 90.0, "only windows that count"


@each_row(
    ("changes", "reason"),
    [
        ({"processor": OTHER_PROCESSOR}, "other-processor"),
        ({"server_program": "s0"}, "other-version"),
        ({"job_program": "j0"}, "other-version"),
        ({"limit_us": 2000.0}, "other-promise"),
        ({"window_s": 2.0}, "other-promise"),
        ({"load": 0.3}, "lighter-load"),
        ({"load": None}, "lighter-load"),
    ],
)
def test_windows_that_do_not_fit_the_question_are_named_and_not_used(changes, reason):
    blocks = [*minutes(90, **changes), block(began="2026-12-01T00:00:00Z")]
    answer = judge(blocks)
    assert (answer.answer, reasons(answer)) == ("unknown", [(reason, 5400)])
    assert answer.evidence.supervised.windows == 60
    asked = judge(blocks, everything=True)
    assert (asked.answer == "yes") == (reason in {"other-processor", "other-version"})
    assert judge([block(job="another")]).evidence.supervised is None


def test_the_version_in_question_is_that_of_the_profile():
    profile = replace(CACHE, program="j2")
    assert reasons(judge(minutes(90), job=profile)) == [("other-version", 5400)]
    assert judge(minutes(90, job_program="j2"), job=profile).answer == "yes"


def test_the_promise_in_question_may_be_an_earlier_one():
    blocks = [*minutes(90, limit_us=2000.0), block(began="2026-12-01T00:00:00Z")]
    answer = judge(blocks, promise=Promise(99.0, 2000.0))
    assert (answer.answer, answer.evidence.supervised.limit_us) == ("yes", 2000.0)
    never = judge(blocks, promise=Promise(99.0, 3000.0))
    assert (never.answer, never.evidence.supervised) == ("unknown", None)
    assert reasons(never) == [("other-promise", 5460)]


def test_violations_at_a_lighter_load_decide_and_those_at_a_heavier_one_do_not():
    assert judge(minutes(60, broken=20, load=0.2)).answer == "no"
    assert judge(minutes(60, broken=20, load=0.9)).answer == "unknown"
    both = [*minutes(90, load=0.9), *minutes(90, broken=20, load=0.2)]
    assert judge(both).answer == "no", "what breaks the promise at a lighter load is no yes at a heavier one"


def test_a_job_that_never_had_its_full_share_shows_nothing():
    answer = judge(minutes(90, judged=0))
    assert (answer.answer, reasons(answer)) == ("unknown", [("throttled", 5400)])
    assert answer.evidence.supervised.bound == 1.0
    assert reasons(judge([block()], unreadable=2))[0] == ("unreadable", 2)


def test_advice_names_its_evidence_and_an_observed_job_uses_up_the_allowance():
    observations = Observations(SupervisedBlocks(minutes(90), 0))
    jobs = advise(
        KV,
        [CACHE, CARDS["memory"]],
        within=0.1,
        load=0.5,
        cpus=[0, 1, 2, 3],
        observations=observations,
    ).jobs
    assert [(one.place, one.by) for one in jobs] == [("beside", "supervised"), ("supervised", "bound")]
    assert jobs[0].evidence.supervised.hours == 1.5
    assert (jobs[1].evidence.supervised, jobs[1].evidence.pairs) == (None, 0)
    assert jobs[1].notes[-1].code == "sum-of-jobs"


def test_prometheus_text_has_hours_and_bound():
    answer = judge(minutes(90))
    text, labels = prometheus_text(answer), '{job="cache",server="kv"}'
    assert f"hindmost_colocation_supervised_hours{labels} 1.5\n" in text
    bound = answer.evidence.supervised.bound
    assert f"hindmost_colocation_violations_bound{labels} {bound:g}\n" in text
    assert 'answered_by{job="cache",server="kv",by="supervised"} 1\n' in text
    assert "supervised_hours" not in prometheus_text(decide(CACHE, KV, within=0.1, load=0.5))


def test_predict_reads_the_windows_next_to_the_profile(tmp_path, capsys):
    paths = [write_card(tmp_path, one) for one in (KV, CACHE, QUIET_JOB)]
    write_blocks(paths[0], minutes(90, processor=OTHER_PROCESSOR))
    command = ["colocate", "predict", *paths[:2], "--json"]
    assert main(command) == 4
    capsys.readouterr()
    page = tmp_path / "answer.html"
    assert main([*command, "--all-evidence", "--page", str(page)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["answer"], answer["by"], answer["evidence"]["supervised"]["hours"]) == (
        "yes",
        "supervised",
        1.5,
    )
    assert "1.5 h" in page.read_text()
    assert main([*command, "--all-evidence", "--promise", "p99<2ms"]) == 4
    assert main([*command, "--all-evidence", "--load", "70%"]) == 4
    capsys.readouterr()
    assert main(["colocate", "predict", *paths, "--all-evidence", "--json"]) == 0
    jobs = {one["job"]: one["by"] for one in json.loads(capsys.readouterr().out)["jobs"]}
    assert jobs == {"cache": "supervised", "quiet": "bound"}
    assert main(["colocate", "predict", *paths[:2], "--advise", "--all-evidence", "--page", str(page)]) == 0
    assert "1.5 h" in capsys.readouterr().out
    assert "1.5 h" in page.read_text()
    supervised_path(Path(paths[0])).unlink()
    supervised_path(Path(paths[0])).mkdir()
    assert_refused(command[:-1], capsys, 2, "unreadable-file")


def test_a_program_is_known_by_its_executable_and_its_script(tmp_path):
    script, other = tmp_path / "job", tmp_path / "other"
    script.write_text("#!/usr/bin/env sh\necho\nread line\n")
    other.write_text(script.read_text())
    script.chmod(0o755)
    known = identify_command(["sh", "-u", str(script)])
    assert known == identify_command(["sh", str(other), "an argument"]) == identify_command([str(script)])
    assert identify_command(["sh"]) not in (None, known)
    other.write_text("echo")
    assert identify_command(["sh", str(other)]) != known
    assert identify_command(["no-such-program"]) is None
    for command in (["sh", "-u", str(script)], [str(script)]):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            assert identify_process(process.pid) == known
            process.kill()
    assert identify_process(2**22 + 1) is None
