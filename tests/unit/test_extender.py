"""The extender for kube-scheduler: it reads the scheduler's own questions, and answers by class and job length."""

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
from harvest_documents import class_of, classes_of, tenant_of
from messages import raises

from hindmost.cli import main
from hindmost.commands.harvest.document import ClassifiedTenant
from hindmost.commands.harvest.kubernetes import LengthJudge, labels_text, read_index, read_runs
from hindmost.core.kubernetes import (
    Cluster,
    Extender,
    Node,
    Pod,
    WatchedFile,
    filter_nodes,
    prioritise_nodes,
    read_question,
)
from hindmost.core.kubernetes.extender import cores_of, read_pod
from hindmost.core.store.estimates import encode
from hindmost.errors import UsageError

RECORDINGS = Path(__file__).parent / "recorded"
"""Written by k8s.io/kube-scheduler/extender/v1 of Kubernetes 1.31, with whole nodes and with names only."""


def read_recording(name: str) -> bytes:
    return (RECORDINGS / f"extender_{name}.json").read_bytes()


def tenant(name: str, servers: int, at: int | None) -> ClassifiedTenant:
    return tenant_of(name, dict.fromkeys(f"{name}-{k}" for k in range(servers)), at)


DOCUMENT = classes_of(
    [class_of("periodic", 0.3, 0.6), class_of("constant", 0.2, 0.25), class_of("unpredictable", 0.5, 0.9)],
    [tenant("web", 2, 0), tenant("crawl", 2, 1), tenant("test", 1, 2), tenant("gaps", 1, None)],
)


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "classes.json"
    path.write_text(encode(DOCUMENT))
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
    question = read_question(json.loads(read_recording(name)))
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
def test_nodes_without_headroom_are_refused_in_both_forms(judge, name):
    question = read_question(json.loads(read_recording(name)))
    result = filter_nodes(judge, question)
    # Half of its cores minus the reserve of a third leaves 2 of 12, the request; new-0 has no class.
    assert result["FailedNodes"] == {}
    judge.reserve = 0.4
    result = filter_nodes(judge, question)
    assert list(result["FailedNodes"]) == ["test-0"]
    (note,) = judge.find_refusals(question.pod, question.nodes).values()
    assert note.code == "little-headroom"
    assert (note.values["load"], note.values["reserve"], note.values["need"]) == (0.5, 0.4, 2.0)
    assert note.values["have"] == pytest.approx(0.1 * note.values["cores"])
    assert result["FailedNodes"]["test-0"] == note.text
    remaining = ["web-0", "web-1", "crawl-0", "crawl-1", "new-0"]
    if name == "named":
        assert (result["NodeNames"], result["Nodes"]) == (remaining, None)
    else:
        assert result["NodeNames"] is None
        assert [node["metadata"]["name"] for node in result["Nodes"]["items"]] == remaining
        assert result["Nodes"]["items"][2]["status"]["capacity"]["memory"] == "32Gi"


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
    assert all(score == scores[0] for score in scores)
    scores = [
        judge.scores(Pod("p", {**labels, "hindmost/job": f"j{k}"}, cores=1.0), nodes) for k in range(40)
    ]
    comparable = [score for score in scores if score.get("web-0") and score.get("web-1")]
    assert comparable
    assert all(score["web-0"] > score["web-1"] for score in comparable)


def test_an_unlabelled_job_is_as_long_as_its_last_run(classes, tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text("job,duration_s\nq1,500\nq2,10\nq1,20\nq3,434\n")
    judge = LengthJudge(WatchedFile(classes, read_index), WatchedFile(runs, read_runs))
    result = [judge.length(Pod("p", {"hindmost/job": name})) for name in ("q1", "q2", "q3", "q4")]
    assert result == ["short", "short", "long", "medium"]
    assert judge.length(Pod("q3", {"hindmost/length": "eternal"})) == "long"
    for wrong in ("job,took\nq1,5\n", "job,duration_s\nq1,soon\n", "job,duration_s\nq1,-1\n"):
        runs.write_text(wrong)
        with raises(UsageError, "bad-file", path=str(runs)):
            read_runs(runs)


def test_after_an_unreadable_file_the_last_valid_one_is_used(classes, judge):
    text = classes.read_text()
    classes.write_text(text[: len(text) // 2])
    assert "web-0" in judge.known.now().of
    assert judge.gauges()["files_unreadable_total"] == 1
    new_file = classes.with_name("new")
    new_file.write_text(text.replace("web-0", "api-0"))
    new_file.replace(classes)
    assert "api-0" in judge.known.now().of
    classes.unlink()
    assert "api-0" in judge.known.now().of
    assert judge.gauges()["files_unreadable_total"] == 2


def test_questions_over_http_are_answered_and_counted(judge):
    with Extender(judge, gauges=judge.gauges, prefix="hindmost_harvest") as server:
        at = server.address
        status, result = ask(at, "/filter", read_recording("named"))
        assert (status, len(result["NodeNames"])) == (200, 6)
        status, result = ask(at, "/filter", read_recording("whole"))
        assert result["Nodes"] == json.loads(read_recording("whole"))["Nodes"]
        status, result = ask(at, "/prioritize", read_recording("whole"))
        assert status == 200
        assert {row["Host"]: row["Score"] for row in result}["new-0"] == 0
        assert all(set(row) == {"Host", "Score"} and 0 <= row["Score"] <= 10 for row in result)
        for body, key in (
            (b"{", None),
            (b"[]", None),
            (b"{}", "Pod"),
            (b'{"Pod": {"metadata": {"name": "p"}}}', "Nodes"),
            (b'{"Pod": {"metadata": {}}, "NodeNames": ["a"]}', "name"),
            (b'{"Pod": {"metadata": {"name": "p"}, "spec": 3}, "NodeNames": ["a"]}', None),
        ):
            status, result = ask(at, "/filter", body)
            assert (status, result["Code"], result["Fields"]["key"]) == (400, "bad-question", key)
            assert result["Error"]
        assert ask(at, "/bind", b"{}")[0] == 404
        assert ask(at, "/healthz", b"", "GET") == (200, "ok\n")
        metrics = ask(at, "/metrics", b"", "GET")[1]
        assert 'hindmost_harvest_questions_total{kind="filter"} 2' in metrics
        assert 'hindmost_harvest_questions_total{kind="unreadable"} 6' in metrics
        assert "hindmost_harvest_classes 3" in metrics


def test_a_failing_judge_is_reported_and_the_server_continues():
    class BrokenJudge:
        def find_refusals(self, pod, nodes):
            raise RuntimeError("no idea")

        def scores(self, pod, nodes):
            return {nodes[0].name: 99}

    with Extender(BrokenJudge()) as server:
        status, result = ask(server.address, "/filter", read_recording("named"))
        assert (status, result["Code"]) == (500, "judge-failed")
        assert "no idea" in result["Error"]
        assert ask(server.address, "/prioritize", read_recording("named"))[1][0]["Score"] == 10
    assert (
        prioritise_nodes(BrokenJudge(), read_question(json.loads(read_recording("named"))))[1]["Score"] == 0
    )


BATCH = {"hindmost/job": "q1"}


def test_only_batch_pods_are_judged(judge):
    full = [Node("web-0", annotations={"hindmost/utilisation": "1"}, cores=12.0)]
    assert judge.find_refusals(Pod("daemon", {"app": "web"}, cores=0.1), full) == {}
    assert judge.scores(Pod("daemon"), [Node("web-0")]) == {}
    for pod in (Pod("p", BATCH), Pod("p", {}, BATCH), Pod("p", managed=True)):
        assert judge.find_refusals(pod, full)["web-0"].code == "little-headroom"
    spec = {"spec": {"containers": [{"resources": {"requests": {"hindmost/slots": "1"}}}]}}
    assert read_pod({"metadata": {"name": "p"}, **spec}).is_batch


@pytest.mark.parametrize(
    ("utilisation", "code"),
    [
        ("90%", "little-headroom"),
        ("0.9", "little-headroom"),
        ("0%", None),
        *[(bad, "bad-share") for bad in ("NaN", "90 %", "1.5", "-0.1", "90", "busy", "", "1e-1", "\u00b2")],
    ],
)
def test_a_utilisation_is_a_share_or_the_node_is_refused(judge, utilisation, code):
    nodes = [Node("web-0", annotations={"hindmost/utilisation": utilisation})]
    refusals = judge.find_refusals(Pod("p", BATCH, cores=1.0), nodes)
    assert {name: note.code for name, note in refusals.items()} == ({} if code is None else {"web-0": code})
    assert ("web-0" in judge.scores(Pod("p", BATCH), nodes)) == (code != "bad-share")


def test_admitted_pods_leave_less_headroom_for_later_ones(classes):
    now = [0.0]
    judge = LengthJudge(WatchedFile(classes, read_index), clock=lambda: now[0])
    node = Node("crawl-0", annotations={"hindmost/utilisation": "0.2"}, cores=12.0)  # 5.6 cores are spare

    def count_admitted(count: int, *nodes: Node) -> int:
        pods = [Pod(f"p{k}", BATCH, cores=3.0, uid=f"u{k}") for k in range(count)]
        return sum(not judge.find_refusals(pod, nodes) for pod in pods for _ in range(2))

    assert count_admitted(20, node) == 2  # the first pod, which may be asked for again
    assert count_admitted(1, node, Node("unclassified")) == 2
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
def test_the_request_of_a_pod_is_computed_like_the_schedulers(spec, cores):
    def container(request):
        cpu, policy = request if isinstance(request, tuple) else (request, None)
        return {"resources": {"requests": {"cpu": cpu}}, "restartPolicy": policy}

    whole = {
        key: [container(request) for request in value] if isinstance(value, list) else value
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
def test_every_malformed_request_is_answered_and_counted(judge, length, body):
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
    """A fake API server: it lists objects, then watches its queue."""
    events: queue.Queue = queue.Queue()
    objects = {
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
                self.chunk({"metadata": {"resourceVersion": "7"}, "items": objects[kind]})
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


def test_pods_and_nodes_follow_the_api_server(classes, api_server):
    url, events = api_server

    def pod(name: str, **more) -> dict:
        spec = {"nodeName": "web-0", "containers": [{"resources": {"requests": {"cpu": "1"}}}]}
        return {"metadata": {"name": name, "uid": name, "labels": BATCH}, "spec": spec, **more}

    with Cluster(url) as cluster:
        judge = LengthJudge(WatchedFile(classes, read_index), cluster=cluster)

        def wait_until(condition) -> bool:
            until = time.monotonic() + 10
            while not condition() and time.monotonic() < until:
                time.sleep(0.005)
            return condition()

        def spare_cores() -> float:
            note = judge.find_refusals(Pod("asked", BATCH, cores=99.0), [Node("web-0")])["web-0"]
            return note.values["have"]

        assert wait_until(lambda: cluster.node("web-0") is not None)
        whole = (1 - 1 / 3 - 0.1) * 6
        assert spare_cores() == pytest.approx(whole)
        events.put({"type": "ADDED", "object": pod("a")})
        events.put(
            {"type": "ADDED", "object": {**pod("b"), "metadata": {"name": "b", "uid": "b"}}}
        )  # not batch work
        events.put({"type": "BOOKMARK", "object": {}})
        events.put({"type": "MODIFIED", "object": pod("c")})
        assert wait_until(lambda: set(cluster.bound()) == {"a", "c"})
        assert spare_cores() == pytest.approx(whole - 2)
        events.put({"type": "MODIFIED", "object": pod("a", status={"phase": "Succeeded"})})
        events.put({"type": "DELETED", "object": pod("c")})
        assert wait_until(lambda: cluster.bound() == {})
        assert judge.find_refusals(Pod("d", BATCH, cores=2.0, uid="d"), [Node("web-0")]) == {}
        assert spare_cores() == pytest.approx(whole - 2)  # reserved until the API server reports the pod
        events.put({"type": "ADDED", "object": pod("d")})
        assert wait_until(lambda: set(cluster.bound()) == {"d"})
        assert spare_cores() == pytest.approx(whole - 1)
        assert judge.gauges()["pods"] == 1
        assert judge.gauges()["blind_questions_total"] == 0


def test_the_extender_ends_on_sigterm(classes):
    program = "import sys; from hindmost.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "extender", str(classes), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "http://" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_cpu_quantities_are_parsed_and_invalid_ones_are_none():
    quantities = ("1500m", "2", 4, "0.5", "100u", "500000n", "2e-1", "1E1", "1Ti", "1E")
    assert [cores_of(text) for text in quantities] == pytest.approx(
        [1.5, 2.0, 4.0, 0.5, 1e-4, 5e-4, 0.2, 10.0, 2.0**40, 1e18]
    )
    assert [cores_of(text) for text in ("two", None, "-1", "1.2.3")] == [None] * 4


def test_the_script_labels_nodes_and_reports_failures(classes, tmp_path):
    kubectl, script = tmp_path / "kubectl", tmp_path / "labels.sh"
    kubectl.write_text(
        f'#!/bin/sh\necho "$3" >> {tmp_path}/calls\n[ "$3" != web-0 ] && [ "$3" != crawl-1 ]\n'
    )
    kubectl.chmod(0o755)
    script.write_text(labels_text(DOCUMENT))
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script], env=env, capture_output=True, text=True, check=False)
    assert (tmp_path / "calls").read_text().split() == ["web-0", "web-1", "crawl-0", "crawl-1", "test-0"]
    assert (done.returncode, done.stderr.split(":")[-1].split()) == (1, ["web-0", "crawl-1"])
    kubectl.write_text("#!/bin/sh\n")
    assert subprocess.run(["sh", script], env=env, check=False).returncode == 0


def test_labels_and_the_scheduler_configuration_are_written(classes, tmp_path, capsys):
    out = tmp_path / "k8s"
    assert main(["harvest", "export", "kubernetes", str(classes), "--out", str(out)]) == 0
    script, config = map(Path, capsys.readouterr().out.split())
    lines = script.read_text().splitlines()
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
        tenants = [tenant_of("web", dict.fromkeys(["web-1", odd]), 0)]
        with raises(UsageError, "bad-value", key="server", value=odd):
            labels_text(classes_of(DOCUMENT.classes, tenants))
    assert main(["extender", str(classes), "--port", "70000"]) == 2
