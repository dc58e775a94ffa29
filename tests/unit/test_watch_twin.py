"""The simulated data centre and the analysis cluster, as Python has them."""

import json

import pytest

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.watch.cluster import analysis_machines
from hindmost.watch.twin import PROTOTYPE, leaderboard


@pytest.fixture(scope="module")
def board():
    return leaderboard(trials=12, seed=3)


def scores(board, rule, **where):
    return [
        score
        for cell in board["cells"]
        if all(cell[name] == value for name, value in where.items())
        for score in cell["scores"]
        if score["rule"] == rule
    ]


def test_ours_blames_nobody_wrongly_where_the_cause_is_known(board):
    for rho, least in ((0.0, 0.8), (0.6, 0.8), (0.9, 0.3)):
        (score,) = scores(board, "ours", monitored=True, look_alike=None, rho=rho)
        assert score["wrong"]["value"] == 0
        # At 0.9 what is not named is left open: ten minutes are worth half a minute.
        assert score["right"]["value"] >= least
        assert score["right"]["low"] < score["right"]["value"] <= score["right"]["high"]


def test_rankers_blame_somebody_whether_the_cause_is_there_or_not(board):
    for score in scores(board, "quantile regression", monitored=False):
        assert score["wrong"]["value"] == 1.0


def test_every_figure_of_the_prototype_stands_beside_one_of_ours(board):
    shown = sum(score["prototype"] is not None for cell in board["cells"] for score in cell["scores"])
    assert shown == len(PROTOTYPE)
    assert "NUMA locality" in board["by_cause"]["ours"]


def test_ours_names_each_of_the_seven_causes_numa_included(board):
    assert set(board["by_cause"]["ours"]) >= {
        "interference",
        "NUMA locality",
        "frequency",
        "interrupts",
        "load",
    }
    assert len(board["by_cause"]["ours"]) == 7
    # Over all autocorrelations, of which the greatest leaves many cases open.
    assert min(board["by_cause"]["ours"].values()) >= 0.7
    assert board["by_cause"]["paper's rule, 120 s"]["NUMA locality"] == 0.0


def test_a_thousand_servers_need_three_machines_at_the_paper_s_minute():
    rows = analysis_machines(180.0, [1000], [1.0], in_batches=0.0)["rows"]
    assert [row["independent"] for row in rows] == [3, 6]
    assert rows[0]["published"] is not None
    assert rows[1]["published"] is None


def test_the_verbs_print_for_people_and_for_machines(capsys):
    assert main(["watch", "twin", "--trials", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"] == 2
    assert main(["watch", "machines", "--servers", "10,100", "--anomalies", "1"]) == 0
    rows = [line.split("|")[0].split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row and row[0].isdigit()] == 2 * [["10", "1"]] + 2 * [["100", "1"]]


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        (["watch", "twin", "--trials", "0"], 0),
        (["watch", "twin", "--look-alike", "1"], 1.0),
        (["watch", "machines", "--servers", "many"], "many"),
        (["watch", "machines", "--anomalies", "0"], 0.0),
        (["watch", "machines", "--batches", "100%"], 1.0),
    ],
)
def test_what_cannot_be_simulated_is_refused(argv, value, capsys):
    assert main([*argv, "--json"]) == UsageError.exit_code
    error = json.loads(capsys.readouterr().out)
    assert (error["code"], error["fields"]["option"], error["fields"]["value"]) == (
        "bad-value",
        argv[2],
        value,
    )
