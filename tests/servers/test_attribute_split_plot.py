"""``hindmost attribute`` with a factor that is hard to change: set once a whole plot, and always restored."""

from __future__ import annotations

import signal

import pytest
from factorials import PATIENCE_S, factor, read, study_file
from measuring import finish, need_two_cpus, start, wait_for

BLOCKS = 3
REHEARSALS = 3
"""The control, and one more level of each factor."""


@pytest.fixture
def own_setting(tmp_path):
    """Return a factor whose setting is a file, the file, and the log of all changes."""
    state, log, script = (tmp_path / name for name in ("state", "log", "set.sh"))
    state.write_text("cold")
    script.write_text(f"echo $1 >> {log}\nprintf %s $1 > {state}\n")
    table = (
        f'[[factor]]\nname = "cache"\ncommand = "sh {script} {{level}}"\nread = "cat {state}"\n'
        'levels = ["cold", "warm"]\nchange_time = "100ms"\n\n'
    )
    return table, state, log


def test_a_whole_plot_is_set_once_and_restored(own_setting, tmp_path):
    need_two_cpus()
    table, state, log = own_setting
    body = factor("body", 100, 300, option="body_us")
    out = tmp_path / "study"
    file = study_file(tmp_path, body, table, design=f'[design]\nblocks = "{BLOCKS}"\n', duration="200ms")
    document = read(finish(start("attribute", file, "--json", "--out", out), out, PATIENCE_S))
    assert state.read_text() == "cold"
    changes = log.read_text().split()
    sets = REHEARSALS + BLOCKS * 2  # two whole plots a block, whatever is repeated in them
    assert len(changes) == 2 * sets, "each is undone"
    assert changes[1::2] == ["cold"] * sets
    assert sorted(changes[2 * REHEARSALS :: 2]) == ["cold"] * BLOCKS + ["warm"] * BLOCKS
    assert document["design"]["whole_plots"] == 2
    assert [one["change_s"] for one in document["factors"]] == [None, 0.1]
    assert sum(cell["runs"] + cell["invalid"] for cell in document["loads"][0]["cells"]) >= BLOCKS * 5


def test_a_killed_whole_plot_is_restored_by_the_next_start(own_setting, tmp_path):
    need_two_cpus()
    table, state, log = own_setting
    out = tmp_path / "study"
    file = study_file(
        tmp_path, table, factor("body", 100, 300, option="body_us"), design='[design]\nblocks = "3"\n'
    )
    process = start("attribute", file, "--json", "--out", out)
    runs = "1-low/1-*/runs/0*/run.json"
    wait_for(lambda: [*out.glob(runs)] or process.poll() is not None, "a run of the second level")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(log.read_text().split())
    answer = finish(start("attribute", out, "--json", "--yes"), out, PATIENCE_S)
    assert read(answer)["design"]["blocks"] == 3
    assert state.read_text() == "cold"
    assert log.read_text().split()[before] == "cold", "first of all the old level is restored"
