"""``hindmost attribute`` before any run: what it refuses, and what a dry run leaves alone."""

from pathlib import Path

import pytest
from factorials import BODY, HOLD, factor, load, study_file
from messages import assert_refused, raises

from hindmost.cli import main
from hindmost.commands.attribute.plan import same_study
from hindmost.commands.attribute.resolve import note_untried, resolve
from hindmost.core.plan.factorial import read_study
from hindmost.errors import UsageError

TURBO = Path("/sys/devices/system/cpu/intel_pstate/no_turbo")


@pytest.mark.parametrize(
    ("parts", "exit_code", "code", "fields"),
    [
        pytest.param((BODY, BODY.replace('"body"', '"again"')), 2, "conflicting-factors", {}, id="twice"),
        pytest.param((factor("x", "a", "b", knob="thq"),), 2, "unknown-name", {"value": "thq"}, id="knob"),
        pytest.param((factor("x", "always", "sometimes", knob="thp"),), 2, "bad-value", {}, id="level"),
        pytest.param(
            (BODY.replace("option", "optoin"),), 2, "missing-argument", {"keys": ["optoin"]}, id="key"
        ),
        pytest.param((BODY, load("low", "1k")), 2, "duplicate-name", {"name": "low"}, id="load"),
        pytest.param(
            (factor("x", "off", "on", knob="turbo"),), 5, "setting-unavailable", {"name": "turbo"}, id="host"
        ),
    ],
)
def test_an_impossible_study_is_refused_before_anything_is_written(
    tmp_path, capsys, parts, exit_code, code, fields
):
    if "turbo" in "".join(parts) and TURBO.exists():
        pytest.skip("this CPU has a turbo setting")
    command = ["attribute", str(study_file(tmp_path, *parts)), "--out", str(tmp_path / "study")]
    assert_refused(command, capsys, exit_code, code, **fields)
    assert not (tmp_path / "study").exists()


def test_a_running_server_is_refused(tmp_path):
    with raises(UsageError, "needs-managed-target"):
        resolve(study_file(tmp_path, BODY, target="memcached://127.0.0.1:1"), None, budget=None, without=None)


def test_too_small_a_budget_is_refused_with_the_minimum(tmp_path):
    with raises(UsageError, "too-few-runs", option="--budget", have=0) as caught:
        resolve(study_file(tmp_path, BODY), None, budget="1s", without=None)
    assert caught.value.fields["need"] > 0


def test_the_budget_is_stored_because_it_decides_the_design(tmp_path):
    plan, _ = resolve(study_file(tmp_path, BODY, HOLD), None, budget="2m", without=None)
    reread = read_study(plan.file.model_dump(mode="json"), "manifest")
    assert plan.blocks[0] > 3
    assert reread.design.budget == "2m"


def test_a_dry_run_reports_the_cost_and_changes_nothing(tmp_path, capsys):
    mark, folder = tmp_path / "ran", tmp_path / "study"
    folder.mkdir()
    own_factor = (
        f'[[factor]]\nname = "mine"\ncommand = "touch {mark} {{level}}"\nread = "touch {mark}"\n'
        f'undo = "touch {mark}"\nlevels = ["1", "2"]\n'
    )
    file = study_file(folder, BODY, own_factor)
    before = set(folder.iterdir())
    assert main(["attribute", str(file), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert all(number in out for number in ("2 factors", "4 cells", "15 runs"))
    assert not mark.exists()
    assert set(folder.iterdir()) == before
    plan, _ = resolve(file, None, budget=None, without=None, dry=True)
    assert "mine" in note_untried(plan)
    assert not mark.exists()
    resolve(file, None, budget=None, without=None)
    assert mark.exists(), "without --dry-run the command is tried before the first run"


HARD = (
    '[[factor]]\nname = "mine"\ncommand = "true {level}"\nundo = "true"\nlevels = ["1", "2"]\n'
    'change_time = "40s"\n\n'
)


def test_a_factor_that_is_hard_to_change_makes_a_split_plot(tmp_path, capsys):
    file = study_file(tmp_path, BODY, HARD)
    plan, _ = resolve(file, None, budget=None, without=None)
    assert (plan.design.hard_to_change, plan.design.whole_plots, plan.change_s) == (("mine",), 2, 40.0)
    assert plan.file.factor[1].setting == {"command": "true {level}", "undo": "true"}
    assert main(["attribute", str(file), "--dry-run"]) == 0
    assert "1 min 20 s" in capsys.readouterr().out, "two changes in each block"
    easy, _ = resolve(file, None, budget="20m", without="mine")
    hard, _ = resolve(file, None, budget="20m", without=None)
    assert hard.blocks[0] < easy.blocks[0]


def test_a_level_that_each_fresh_server_needs_cannot_be_kept(tmp_path):
    with raises(UsageError, "bad-value", key="change_time", factor="body"):
        resolve(
            study_file(tmp_path, f'{BODY.strip()}\nchange_time = "5s"\n\n'), None, budget=None, without=None
        )
    with raises(UsageError, "bad-value", name="change_time", value="0s"):
        resolve(study_file(tmp_path, HARD.replace("40s", "0s")), None, budget=None, without=None)


def test_a_study_from_before_a_key_existed_is_the_same_study(tmp_path):
    file = resolve(study_file(tmp_path, BODY), None, budget=None, without=None)[0].file
    stored = file.model_dump(mode="json")
    del stored["factor"][0]["change_time"]
    assert same_study(stored, file) == []
    stored["factor"][0]["levels"] = ["100", "400"]
    assert same_study(stored, file) == ["factor"]


@pytest.mark.parametrize(
    ("factor", "knobs", "code", "fields"),
    [
        (
            factor("x", "off", "on", knob="thp").strip() + '\nchange_time = "5s"\n',
            False,
            "server-elsewhere",
            {},
        ),
        (
            factor("x", "on", "off", knob="tcp_idle_slow_start"),
            True,
            "conflicting-factors",
            {"factors": ["x"]},
        ),
        (
            '[[factor]]\nname = "x"\nenv = "LD_PRELOAD"\nlevels = ["off", "on"]\n',
            False,
            "remote-command",
            {"name": "env"},
        ),
    ],
    ids=["hard", "fixed", "remote"],
)
def test_a_factor_that_a_remote_server_cannot_have_is_refused(tmp_path, factor, knobs, code, fields):
    hosts = tmp_path / "hosts.toml"
    fixed = 'knobs = { tcp_idle_slow_start = "on" }\n' if knobs else ""
    hosts.write_text(
        '[[host]]\nname = "a"\naddress = "192.0.2.1"\n[[host]]\nname = "server"\naddress = "192.0.2.2"\n'
        f'clients = 0\n[target]\nhost = "server"\n{fixed}'
    )
    file = study_file(tmp_path, factor, target="memcached")
    file.write_text(file.read_text().replace("[measure]", f'[measure]\nfleet = "{hosts}"'))
    with raises(UsageError, code, **fields):
        resolve(file, None, budget=None, without=None)
