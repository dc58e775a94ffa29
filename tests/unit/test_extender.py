"""A scheduler extender: questions that kube-scheduler's own types wrote, answers by class and length of job."""

import http.client
import http.server
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from messages import raises

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harvest.kubernetes import LengthJudge, labels_text, read_index, read_runs
from hindmost.kubernetes import (
    Cluster,
    Extender,
    Node,
    Pod,
    WatchedFile,
    filter_nodes,
    prioritise_nodes,
    read_question,
)
from hindmost.kubernetes.extender import cores_of, read_pod

RECORDED = Path(__file__).parent / "recorded"
"""Marshalled by k8s.io/kube-scheduler/extender/v1 of Kubernetes 1.31, whole nodes and names alone."""


def recorded(name: str) -> bytes:
    return (RECORDED / f"extender_{name}.json").read_bytes()


def tenant(name: str, servers: int, at: int | None) -> dict:
    return {
        "name": name,
        "environment": name,
        "servers": [f"{name}-{k}" for k in range(servers)],
        "racks": {},
        "class": at,
        "pattern": None,
    }


def one(pattern: str, mean: float, peak: float) -> dict:
    return {"pattern": pattern, "mean": mean, "peak": peak, "tenants": 1, "servers": 2.0}


DOCUMENT = {
    "schema": "hindmost.classes/1",
    "classes": [one("periodic", 0.3, 0.6), one("constant", 0.2, 0.25), one("unpredictable", 0.5, 0.9)],
    "tenants": [tenant("web", 2, 0), tenant("crawl", 2, 1), tenant("test", 1, 2), tenant("gaps", 1, None)],
}


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "classes.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


@pytest.fixture
def judge(classes):
    return LengthJudge(WatchedFile(classes, read_index))


def ask(address: str, verb: str, body: bytes, method: str = "POST") -> tuple[int, object]:
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request(method, verb, body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    return reply.status, json.loads(text) if text.startswith((b"{", b"[")) else text.decode()


@pytest.mark.parametrize("name", ["whole", "named"])
def test_a_recorded_question_is_read_in_both_forms(name):
    question = read_question(json.loads(recorded(name)))
    assert (question.pod.name, question.pod.cores) == ("q19-map-7x2kq", 2.0)
    assert question.pod.metadata("hindmost/length") == "long"
    assert [node.name for node in question.nodes] == [
        "web-0",
        "web-1",
        "crawl-0",
        "crawl-1",
        "test-0",
        "new-0",
    ]
    assert question.nodes[2].cores == (11.9 if name == "whole" else None)


@pytest.mark.parametrize("name", ["whole", "named"])
def test_nodes_that_cannot_spare_it_are_refused_and_come_back_in_the_form_they_came(judge, name):
    question = read_question(json.loads(recorded(name)))
    found = filter_nodes(judge, question)
    # Half of its cores and a third kept leave 2 of 12, just what is wanted; new-0 is nobody's.
    assert found["FailedNodes"] == {}
    judge.reserve = 0.4
    found = filter_nodes(judge, question)
    assert list(found["FailedNodes"]) == ["test-0"]
    (note,) = judge.find_refusals(question.pod, question.nodes).values()
    assert note.code == "little-headroom"
    assert (note.values["load"], note.values["reserve"], note.values["need"]) == (0.5, 0.4, 2.0)
    assert note.values["have"] == pytest.approx(0.1 * note.values["cores"])
    assert found["FailedNodes"]["test-0"] == note.text
    left = ["web-0", "web-1", "crawl-0", "crawl-1", "new-0"]
    if name == "named":
        assert (found["NodeNames"], found["Nodes"]) == (left, None)
    else:
        assert found["NodeNames"] is None
        assert [node["metadata"]["name"] for node in found["Nodes"]["items"]] == left
        assert found["Nodes"]["items"][2]["status"]["capacity"]["memory"] == "32Gi"


def test_each_length_goes_to_the_pattern_that_it_prefers(judge):
    nodes = [Node(name) for name in ("web-0", "crawl-0", "test-0", "new-0")]
    preferred = {}
    for length in ("short", "medium", "long"):
        best = []
        for job in range(120):
            pod = Pod("p", {"hindmost/job": f"j{job}", "hindmost/length": length}, cores=0.5)
            scores = judge.scores(pod, nodes)
            assert scores.get("new-0", 0) == 0
            best.append(max(scores, key=lambda name: scores[name]))
        preferred[length] = max(set(best), key=best.count)
    assert preferred == {"short": "test-0", "medium": "web-0", "long": "crawl-0"}


def test_pods_of_a_job_get_one_class_and_a_busy_node_scores_less(judge):
    labels = {"hindmost/job": "q7", "hindmost/length": "short", "hindmost/wants": "1"}
    nodes = [Node("web-0"), Node("web-1", annotations={"hindmost/utilisation": "0.5"}), Node("crawl-0")]
    scores = [judge.scores(Pod(f"q7-{k}", labels, cores=1.0), nodes) for k in range(20)]
    assert all(found == scores[0] for found in scores)
    scores = [
        judge.scores(Pod("p", {**labels, "hindmost/job": f"j{k}"}, cores=1.0), nodes) for k in range(40)
    ]
    both = [found for found in scores if found.get("web-0") and found.get("web-1")]
    assert both
    assert all(found["web-0"] > found["web-1"] for found in both)


def test_an_unlabelled_job_is_as_long_as_its_last_run(classes, tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text("job,duration_s\nq1,500\nq2,10\nq1,20\nq3,434\n")
    judge = LengthJudge(WatchedFile(classes, read_index), WatchedFile(runs, read_runs))
    found = [judge.length(Pod("p", {"hindmost/job": name})) for name in ("q1", "q2", "q3", "q4")]
    assert found == ["short", "short", "long", "medium"]
    assert judge.length(Pod("q3", {"hindmost/length": "eternal"})) == "long"
    for wrong in ("job,took\nq1,5\n", "job,duration_s\nq1,soon\n", "job,duration_s\nq1,-1\n"):
        runs.write_text(wrong)
        with raises(UsageError, "bad-file", path=str(runs)):
            read_runs(runs)


def test_a_torn_file_leaves_the_last_good_one_in_force_and_is_counted(classes, judge):
    text = classes.read_text()
    classes.write_text(text[: len(text) // 2])
    assert "web-0" in judge.known.now().of
    assert judge.gauges()["files_unreadable_total"] == 1
    beside = classes.with_name("new")
    beside.write_text(text.replace("web-0", "api-0"))
    beside.replace(classes)
    assert "api-0" in judge.known.now().of
    classes.unlink()
    assert "api-0" in judge.known.now().of
    assert judge.gauges()["files_unreadable_total"] == 2


def test_over_http_questions_are_answered_counted_and_refused(judge):
    with Extender(judge, gauges=judge.gauges, prefix="hindmost_harvest") as server:
        at = server.address
        status, found = ask(at, "/filter", recorded("named"))
        assert (status, len(found["NodeNames"])) == (200, 6)
        status, found = ask(at, "/filter", recorded("whole"))
        assert found["Nodes"] == json.loads(recorded("whole"))["Nodes"]
        status, found = ask(at, "/prioritize", recorded("whole"))
        assert status == 200
        assert {row["Host"]: row["Score"] for row in found}["new-0"] == 0
        assert all(set(row) == {"Host", "Score"} and 0 <= row["Score"] <= 10 for row in found)
        for body, key in (
            (b"{", None),
            (b"[]", None),
            (b"{}", "Pod"),
            (b'{"Pod": {"metadata": {"name": "p"}}}', "Nodes"),
            (b'{"Pod": {"metadata": {}}, "NodeNames": ["a"]}', "name"),
            (b'{"Pod": {"metadata": {"name": "p"}, "spec": 3}, "NodeNames": ["a"]}', None),
        ):
            status, found = ask(at, "/filter", body)
            assert (status, found["Code"], found["Fields"]["key"]) == (400, "bad-question", key)
            assert found["Error"]
        assert ask(at, "/bind", b"{}")[0] == 404
        assert ask(at, "/healthz", b"", "GET") == (200, "ok\n")
        said = ask(at, "/metrics", b"", "GET")[1]
        assert 'hindmost_harvest_questions_total{kind="filter"} 2' in said
        assert 'hindmost_harvest_questions_total{kind="unreadable"} 6' in said
        assert "hindmost_harvest_classes 3" in said


def test_a_judge_that_fails_is_told_and_the_server_lives():
    class Broken:
        def find_refusals(self, pod, nodes):
            raise RuntimeError("no idea")

        def scores(self, pod, nodes):
            return {nodes[0].name: 99}

    with Extender(Broken()) as server:
        status, found = ask(server.address, "/filter", recorded("named"))
        assert (status, found["Code"]) == (500, "judge-failed")
        assert "no idea" in found["Error"]
        assert ask(server.address, "/prioritize", recorded("named"))[1][0]["Score"] == 10
    assert prioritise_nodes(Broken(), read_question(json.loads(recorded("named"))))[1]["Score"] == 0


BATCH = {"hindmost/job": "q1"}


def test_only_pods_that_say_they_are_batch_work_are_judged(judge):
    full = [Node("web-0", annotations={"hindmost/utilisation": "1"}, cores=12.0)]
    assert judge.find_refusals(Pod("daemon", {"app": "web"}, cores=0.1), full) == {}
    assert judge.scores(Pod("daemon"), [Node("web-0")]) == {}
    for pod in (Pod("p", BATCH), Pod("p", {}, BATCH), Pod("p", managed=True)):
        assert judge.find_refusals(pod, full)["web-0"].code == "little-headroom"
    asked = {"spec": {"containers": [{"resources": {"requests": {"hindmost/slots": "1"}}}]}}
    assert read_pod({"metadata": {"name": "p"}, **asked}).is_batch


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("90%", "little-headroom"),
        ("0.9", "little-headroom"),
        ("0%", None),
        *[(bad, "bad-share") for bad in ("NaN", "90 %", "1.5", "-0.1", "90", "busy", "", "1e-1", "\u00b2")],
    ],
)
def test_a_utilisation_is_a_share_or_the_node_is_refused(judge, said, code):
    nodes = [Node("web-0", annotations={"hindmost/utilisation": said})]
    refused = judge.find_refusals(Pod("p", BATCH, cores=1.0), nodes)
    assert {name: note.code for name, note in refused.items()} == ({} if code is None else {"web-0": code})
    assert ("web-0" in judge.scores(Pod("p", BATCH), nodes)) == (code != "bad-share")


def test_pods_that_were_sent_to_a_node_leave_less_for_the_next(classes):
    now = [0.0]
    judge = LengthJudge(WatchedFile(classes, read_index), clock=lambda: now[0])
    node = Node("crawl-0", annotations={"hindmost/utilisation": "0.2"}, cores=12.0)  # 5.6 cores are spare

    def passed(count: int, *nodes: Node) -> int:
        pods = [Pod(f"p{k}", BATCH, cores=3.0, uid=f"u{k}") for k in range(count)]
        return sum(not judge.find_refusals(pod, nodes) for pod in pods for _ in range(2))

    assert passed(20, node) == 2  # the first pod, which may ask again
    assert passed(1, node, Node("nobody")) == 2
    now[0] = 31.0
    judge.scores(
        Pod("other", BATCH, cores=3.0), [node, Node("web-0", annotations={"hindmost/utilisation": "0.6"})]
    )
    assert judge.find_refusals(Pod("p", BATCH, cores=3.0), [node])["crawl-0"].values[
        "batch"
    ] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("spec", "cores"),
    [
        ({"containers": ["1", "500m"]}, 1.5),
        ({"containers": ["1"], "initContainers": ["3", "2"]}, 3.0),
        ({"containers": ["1"], "initContainers": [("2", "Always"), "3", ("1", "Always")]}, 5.0),
        ({"containers": ["4"], "initContainers": [("2", "Always"), "3"]}, 6.0),
        ({"containers": ["1"], "overhead": {"cpu": "250m"}}, 1.25),
        ({"containers": ["1"], "resources": {"requests": {"cpu": "2"}}}, 2.0),
        ({}, 0.0),
    ],
)
def test_a_pod_requests_what_the_scheduler_counts(spec, cores):
    def container(one):
        cpu, policy = one if isinstance(one, tuple) else (one, None)
        return {"resources": {"requests": {"cpu": cpu}}, "restartPolicy": policy}

    whole = {
        key: [container(one) for one in value] if isinstance(value, list) else value
        for key, value in spec.items()
    }
    assert read_pod({"metadata": {"name": "p"}, "spec": whole}).cores == cores


@pytest.mark.parametrize(
    ("length", "body"),
    [
        ("\u00b2", b""),
        ("+2", b"{}"),
        ("", b""),
        ("9" * 15, b""),
        (None, b'{"Pod": ' + b"[" * 200_000),
        (None, b'{"Pod": "\\ud800"}'),
    ],
)
def test_whatever_is_sent_is_answered_and_counted(judge, length, body):
    with Extender(judge) as server:
        connection = http.client.HTTPConnection(server.address, timeout=10)
        connection.putrequest("POST", "/filter")
        connection.putheader("Content-Length", str(len(body)) if length is None else length.encode("latin-1"))
        connection.endheaders(body)
        assert connection.getresponse().status in {400, 411, 413}
        connection.close()
        assert 'kind="unreadable"} 1' in ask(server.address, "/metrics", b"", "GET")[1]


def test_a_node_is_known_by_any_of_its_names(judge):
    full = "0.9"
    nodes = [
        Node(name, annotations={"hindmost/utilisation": full})
        for name in ("WEB-0", "web-1.example.com", "web-9")
    ]
    assert set(judge.find_refusals(Pod("p", BATCH), nodes)) == {"WEB-0", "web-1.example.com"}


@pytest.fixture
def api_server():
    """A fake API server: lists, then a watch of what is put into its queue."""
    events: queue.Queue = queue.Queue()
    kept = {
        "nodes": [
            {
                "metadata": {"name": "web-0", "annotations": {"hindmost/utilisation": "10%"}},
                "status": {"allocatable": {"cpu": "6"}},
            }
        ],
        "pods": [],
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            kind, _, query = self.path.rpartition("/")[2].partition("?")
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if not query:
                self.chunk({"metadata": {"resourceVersion": "7"}, "items": kept[kind]})
                self.wfile.write(b"0\r\n\r\n")
            while kind == "pods" and "resourceVersion=7" in query:
                event = events.get()
                if event is None:
                    return
                self.chunk(event)

        def chunk(self, document):
            line = json.dumps(document).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", events
    events.put(None)
    server.shutdown()
    server.server_close()


def test_bound_pods_and_named_nodes_are_as_the_api_server_has_them(classes, api_server):
    url, events = api_server

    def pod(name: str, **more) -> dict:
        spec = {"nodeName": "web-0", "containers": [{"resources": {"requests": {"cpu": "1"}}}]}
        return {"metadata": {"name": name, "uid": name, "labels": BATCH}, "spec": spec, **more}

    with Cluster(url) as cluster:
        judge = LengthJudge(WatchedFile(classes, read_index), cluster=cluster)

        def seen(condition) -> bool:
            until = time.monotonic() + 10
            while not condition() and time.monotonic() < until:
                time.sleep(0.005)
            return condition()

        def have() -> float:
            note = judge.find_refusals(Pod("asked", BATCH, cores=99.0), [Node("web-0")])["web-0"]
            return note.values["have"]

        assert seen(lambda: cluster.node("web-0") is not None)
        whole = (1 - 1 / 3 - 0.1) * 6
        assert have() == pytest.approx(whole)
        events.put({"type": "ADDED", "object": pod("a")})
        events.put(
            {"type": "ADDED", "object": {**pod("b"), "metadata": {"name": "b", "uid": "b"}}}
        )  # no batch work
        events.put({"type": "BOOKMARK", "object": {}})
        events.put({"type": "MODIFIED", "object": pod("c")})
        assert seen(lambda: set(cluster.bound()) == {"a", "c"})
        assert have() == pytest.approx(whole - 2)
        events.put({"type": "MODIFIED", "object": pod("a", status={"phase": "Succeeded"})})
        events.put({"type": "DELETED", "object": pod("c")})
        assert seen(lambda: cluster.bound() == {})
        assert judge.find_refusals(Pod("d", BATCH, cores=2.0, uid="d"), [Node("web-0")]) == {}
        assert have() == pytest.approx(whole - 2)  # held, until it is seen
        events.put({"type": "ADDED", "object": pod("d")})
        assert seen(lambda: set(cluster.bound()) == {"d"})
        assert have() == pytest.approx(whole - 1)
        assert judge.gauges()["pods"] == 1
        assert judge.gauges()["blind_questions_total"] == 0


def test_the_extender_ends_well_by_sigterm(classes):
    program = "import sys; from hindmost.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "extender", str(classes), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "http://" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_quantities_of_processors_are_read_and_nonsense_is_none():
    said = ("1500m", "2", 4, "0.5", "100u", "500000n", "2e-1", "1E1", "1Ti", "1E")
    assert [cores_of(text) for text in said] == pytest.approx(
        [1.5, 2.0, 4.0, 0.5, 1e-4, 5e-4, 0.2, 10.0, 2.0**40, 1e18]
    )
    assert [cores_of(text) for text in ("two", None, "-1", "1.2.3")] == [None] * 4


def test_the_script_labels_all_nodes_that_it_can_and_says_which_it_could_not(classes, tmp_path):
    kubectl, script = tmp_path / "kubectl", tmp_path / "labels.sh"
    kubectl.write_text(
        f'#!/bin/sh\necho "$3" >> {tmp_path}/asked\n[ "$3" != web-0 ] && [ "$3" != crawl-1 ]\n'
    )
    kubectl.chmod(0o755)
    script.write_text(labels_text(DOCUMENT))
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script], env=env, capture_output=True, text=True, check=False)
    assert (tmp_path / "asked").read_text().split() == ["web-0", "web-1", "crawl-0", "crawl-1", "test-0"]
    assert (done.returncode, done.stderr.split(":")[-1].split()) == (1, ["web-0", "crawl-1"])
    kubectl.write_text("#!/bin/sh\n")
    assert subprocess.run(["sh", script], env=env, check=False).returncode == 0


def test_labels_and_the_schedulers_file_are_written_and_odd_names_refused(classes, tmp_path, capsys):
    out = tmp_path / "k8s"
    assert main(["harvest", "export", "kubernetes", str(classes), "--out", str(out)]) == 0
    script, config = map(Path, capsys.readouterr().out.split())
    lines = script.read_text().splitlines()
    document = json.loads(json.dumps(DOCUMENT))
    assert sum("kubectl label node" in line for line in lines) == 5
    assert any("web-1 --overwrite hindmost/class=0" in line for line in lines)
    assert "ignorable: true" in config.read_text()
    for odd in (
        "web 0; rm -rf /",
        "node_1",
        "NodeA",
        "n" * 64,
        "-x",
        "a..b",
        "a-",
        "a.",
        "n." * 130 + "n",
        "",
    ):
        document["tenants"][0]["servers"] = ["web-1", odd]
        with raises(UsageError, "bad-value", key="server", value=odd):
            labels_text(document)
    assert main(["extender", str(classes), "--port", "70000"]) == 2
