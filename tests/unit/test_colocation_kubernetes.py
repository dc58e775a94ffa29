"""The extender for kube-scheduler uses the same profiles as ``colocate predict`` and gives the same answers."""

import http.client
import json
from pathlib import Path

import pytest
from messages import raises
from profile_cards import OTHER_PROCESSOR, card, share, write_card
from supervised_blocks import minutes, write_blocks

from hindmost.cli import main
from hindmost.commands.colocate.prediction.bound import judge_pair
from hindmost.commands.colocate.prediction.kubernetes import CardJudge, read_cards
from hindmost.core.kubernetes import Extender, Node, Pod, WatchedFile
from hindmost.errors import UsageError

NO_EFFECT = {"l3": -0.02, "dram": -0.02}
CARDS = {
    "kv": card("kv", {"l3": 0.12, "dram": 0.02}, NO_EFFECT),
    "lone": card("lone", {"l3": 0.0, "dram": 0.0}, NO_EFFECT, presence=share(0.3)),
    "quiet": card("quiet", NO_EFFECT, NO_EFFECT),
    "memory": card("memory", NO_EFFECT, {"l3": -0.02, "dram": 0.6}),
    "cache": card("cache", NO_EFFECT, {"l3": 0.3, "dram": 0.6}),
    "other": card("other", NO_EFFECT, NO_EFFECT, processor=OTHER_PROCESSOR),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for profile in CARDS.values():
        write_card(tmp_path, profile)
    return tmp_path


@pytest.fixture
def judge(folder: Path) -> CardJudge:
    return CardJudge(WatchedFile(folder, read_cards))


def pod(job: str) -> Pod:
    return Pod("p", {"hindmost/job": job})


def node(name: str, servers: str | None = None, **labels: str) -> Node:
    server_labels = {} if servers is None else {"hindmost/servers": servers}
    return Node(name, server_labels | {f"hindmost/{key}": value for key, value in labels.items()})


NODES = [node("empty"), node("kv-0", "kv"), node("lone-0", "lone"), node("both-0", "kv.lone")]


def test_nodes_whose_servers_would_lose_too_much_are_refused(judge):
    refusals = judge.find_refusals(pod("memory"), NODES)
    assert list(refusals) == ["lone-0", "both-0"]
    assert {note.code for note in refusals.values()} == {"server-would-lose"}
    values = refusals["both-0"].values
    assert (values["server"], values["job"], values["load"]) == ("lone", "memory", 0.5)
    assert values["allowed"] == pytest.approx(0.045, abs=0.001)
    assert judge.find_refusals(pod("unprofiled"), NODES) == {}
    assert judge.find_refusals(Pod("p"), NODES) == {}


def test_scores_follow_the_profiles_and_are_zero_otherwise(judge):
    result = {
        job: judge.scores(pod(job), NODES).get("kv-0", 0) for job in ("quiet", "memory", "cache", "other")
    }
    memory = judge_pair(CARDS["memory"], CARDS["kv"], within=0.1, load=0.5)
    kept = round(10 * (1 - memory.worst / memory.allowed))
    assert result == {"quiet": 10, "memory": kept, "cache": 0, "other": 0}
    assert set(judge.scores(pod("quiet"), NODES)) == {"kv-0"}


def test_the_tightest_server_on_a_node_decides(judge):
    nodes = [node("one", "kv"), node("two", "quiet.kv"), node("three", "quiet")]
    scores = judge.scores(pod("memory"), nodes)
    assert scores["two"] == scores["one"] < scores["three"] == 10
    assert judge.scores(pod("cache"), nodes) == {"three": 10}


def test_labels_of_a_node_give_load_and_limit_of_its_servers(judge):
    isolated = [node("a", "kv", load="50%"), node("b", "kv", load="0.05"), node("c", "kv", within="2")]
    assert judge.scores(pod("cache"), isolated) == {"c": judge.scores(pod("cache"), isolated)["c"]}
    scores = judge.scores(pod("memory"), isolated)
    assert scores["a"] < scores["b"]
    for labels in ({"load": "busy"}, {"load": "NaN"}, {"within": "-1"}):
        odd = [node("d", "kv", **labels)]
        assert judge.scores(pod("memory"), odd) == {}
        (note,) = judge.find_refusals(pod("memory"), odd).values()
        ((key, value),) = labels.items()
        assert (note.code, note.values) == (
            "bad-share",
            {"node": "d", "key": f"hindmost/{key}", "value": value},
        )


def test_in_strict_mode_unknown_losses_are_refused(judge):
    judge.strict = True
    nodes = [node("kv-0", "kv"), node("new-0", "new")]
    for job, where, worst in (("cache", "kv-0", 0.13), ("quiet", "new-0", None), ("other", "kv-0", None)):
        note = judge.find_refusals(pod(job), nodes)[where]
        assert note.code == "loss-unknown"
        assert note.values["worst"] == (worst and pytest.approx(worst))
    assert list(judge.find_refusals(pod("memory"), nodes)) == ["new-0"]


def test_supervised_windows_outrank_profiles_and_are_read_while_they_grow(judge, folder):
    judge.strict = True
    nodes = [node("busy", "kv", load="0.5"), node("busier", "kv", load="0.9")]
    assert set(judge.find_refusals(pod("cache"), nodes)) == {"busy", "busier"}
    write_blocks(folder / "kv.json", minutes(90))
    assert set(judge.find_refusals(pod("cache"), nodes)) == {"busier"}
    few = judge.scores(pod("cache"), nodes)["busy"]
    write_blocks(folder / "kv.json", minutes(900, session="second"))
    assert few < judge.scores(pod("cache"), nodes)["busy"] == 9
    gauges, labels = judge.gauges(), '{job="cache",server="kv"}'
    assert gauges[f"supervised_hours{labels}"] == 16.5
    assert gauges[f"violations_bound{labels}"] == pytest.approx(1 - 0.05 ** (1 / 990))
    write_blocks(folder / "lone.json", minutes(60, server="lone", job="quiet", broken=20))
    note = judge.find_refusals(pod("quiet"), [node("lone-0", "lone")])["lone-0"]
    assert (note.code, note.values["by"], note.values["hours"]) == ("server-would-lose", "supervised", 1.0)
    assert note.values["least"] > 0.2


def test_the_extender_answers_over_http(judge, folder):
    question = {"Pod": {"metadata": {"name": "p", "labels": {"hindmost/job": "memory"}}}}
    items = [{"metadata": {"name": node.name, "labels": dict(node.labels)}} for node in NODES]
    with Extender(judge, gauges=judge.gauges, prefix="hindmost_colocate") as server:

        def ask(method: str, path: str, body: object = None) -> str:
            connection = http.client.HTTPConnection(server.address, timeout=10)
            connection.request(method, path, json.dumps(body))
            text = connection.getresponse().read().decode()
            connection.close()
            return text

        result = json.loads(ask("POST", "/filter", question | {"Nodes": {"items": items}}))
        assert [node["metadata"]["name"] for node in result["Nodes"]["items"]] == ["empty", "kv-0"]
        assert set(result["FailedNodes"]) == {"lone-0", "both-0"}
        scores = json.loads(ask("POST", "/prioritize", question | {"Nodes": {"items": items}}))
        assert {score["Host"]: score["Score"] for score in scores}["kv-0"] > 0
        (folder / "kv.json").unlink()
        scores = json.loads(ask("POST", "/prioritize", question | {"Nodes": {"items": items}}))
        assert {score["Host"]: score["Score"] for score in scores}["kv-0"] == 0
        (folder / "kv.json").write_text("{torn")
        assert json.loads(ask("POST", "/filter", question | {"Nodes": {"items": items}}))["Error"] == ""
        metrics = ask("GET", "/metrics")
        assert "hindmost_colocate_cards 5" in metrics
        assert "hindmost_colocate_files_unreadable_total 1" in metrics


def test_a_folder_without_valid_profiles_is_refused(tmp_path, folder, capsys):
    with raises(UsageError, "no-such-file", path=str(tmp_path / "nowhere")):
        read_cards(tmp_path / "nowhere")
    (folder / "copy.json").write_text((folder / "kv.json").read_text())
    with raises(UsageError, "duplicate-name", name="kv"):
        read_cards(folder)
    (folder / "copy.json").unlink()
    assert main(["extender", str(folder), "--port", "70000"]) == 2
    assert capsys.readouterr().err.startswith("error[bad-value]")
    assert main(["extender", str(folder), "--listen", "203.0.113.1", "--port", "0"]) == 2
    assert capsys.readouterr().err.startswith("error[cannot-listen]")


def test_an_unwritable_prometheus_file_is_reported_after_the_answer(folder, capsys):
    command = ["colocate", "predict", str(folder / "kv.json"), str(folder / "memory.json"), "--prometheus"]
    assert main([*command, str(folder / "may.prom")]) == 0
    assert "hindmost_colocation_allowed" in (folder / "may.prom").read_text()
    capsys.readouterr()
    assert main([*command, str(folder / "no" / "may.prom"), "--json"]) == 1
    answer, error = map(json.loads, capsys.readouterr().out.splitlines())
    assert (answer["answer"], answer["job"], answer["server"]) == ("yes", "memory", "kv")
    assert (error["code"], error["fields"]["path"]) == ("unwritable-file", str(folder / "no" / "may.prom"))
