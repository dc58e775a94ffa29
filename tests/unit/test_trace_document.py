"""A trace as people ask for it and read it: which server, what is missing on the host, the document, the screen."""

import json
import os
import re
import shlex
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from hindmost.errors import TargetError, UsageError
from hindmost.report.trace.names import STAGES as STAGE_NAMES
from hindmost.report.trace.page import render_trace_page
from hindmost.report.trace.terminal import render_trace
from hindmost.stats.stages import STAGES
from hindmost.store.schema import schemas
from hindmost.trace.able import unable
from hindmost.trace.advice import advice
from hindmost.trace.begun import Function
from hindmost.trace.document import document_of
from hindmost.trace.groups import _groups
from hindmost.trace.inbound import inbound
from hindmost.trace.server import Server, find_server
from hindmost.trace.taken import Look
from hindmost.trace.times import served
from hindmost.trace.tracing import TraceRequest

COUNTS = dict.fromkeys(
    [
        *("seen", "done", "no_arrival", "ring_full", "ambiguous", "closed", "silent", "before", "unframed"),
        *("unreadable", "parts_late", "stamp_missing", "records_lost", "connections", "batched"),
        *("not_begun", "astray"),
    ],
    0,
)


def traced(**counts: int) -> dict:
    """A trace of two kinds, whose variance is in the second stage and whose mean is in the fourth."""
    generator = np.random.default_rng(3)
    blocks = []
    for _ in range(40):
        kinds = []
        for kind, work in (("get", 20e3), ("set", 26e3)):
            waited = generator.exponential(5e3, 200)
            alike = np.ones(200)
            rows = np.column_stack([1e3 * alike, waited, 0 * alike, work * alike, 1e3 * alike, alike])
            off = rows - rows.mean(axis=0)
            latency = rows[:, :5].sum(axis=1)
            kinds.append(
                {
                    "kind": kind,
                    "n": 200,
                    "mean_ns": rows.mean(axis=0).tolist(),
                    "products": (off.T @ off)[np.triu_indices(6)].tolist(),
                    "latency_ns": latency.mean(),
                    "latency_square": latency.var() * 200,
                }
            )
        blocks.append({"from_ns": 0, "to_ns": 10**8, "kinds": kinds})
    return {
        "began_ns": 5,
        "lasted_ns": 4 * 10**9,
        "followed_ns": 4 * 10**9,
        "handover": True,
        "blocks": blocks,
        "counts": {**COUNTS, "seen": 16000, "done": 16000, "connections": 4, **counts},
        "records": 0,
        "who": None,
        "cost": {"reader_ns": 8 * 10**6, "probes_ns": 10**6, "costed_requests": 1000, "probes": []},
    }


def held_up() -> dict:
    """Who of a trace: the maintainer's waits are rare and long, the network's interrupts are in all alike."""
    stages, names = ["tcp_to_read", "read_to_start"], ["running", "run_queue", "interrupt"]
    generator = np.random.default_rng(4)
    blocks, charged = [], []
    for _ in range(40):
        waited = np.where(generator.random(500) < 0.02, 400.0, 0.0)
        parts = np.column_stack([0 * waited + 5, waited, 20 + waited / 4, *([0 * waited] * 3)])
        latency = parts.sum(axis=1)
        sums = [[x.sum(), (x * x).sum(), (x * latency).sum()] for x in parts.T]
        blocks.append(
            {
                "n": 500,
                "latency": latency.sum(),
                "latency_square": (latency**2).sum(),
                "parts": np.array(sums).tolist(),
            }
        )
        charged.append(np.array(sums[1]).tolist())
    culprit = {"name": "mc-lrumaint", "process": 7, "relation": "own", "requests": 400, "blocks": charged}
    culprit |= {"threads": 1, "foremost": None}
    slow = {"stage": "tcp_to_read", "cause": "run_queue", "mean_us": 400.0}
    return {
        "causes": names,
        "stages": stages,
        "blocks": blocks,
        "culprits": [{"stage": "tcp_to_read", "cause": "run_queue", **culprit}],
        "threads": [
            {
                "thread": 9,
                "name": "mc-worker",
                "process": 7,
                "queued_ns": 5,
                "woken_ns": 2,
                "migrations": 3,
                "page_faults": 0,
            }
        ],
        "slowest": {
            "requests": 200,
            "share": 0.01,
            "above_us": 425.0,
            "latency_us": 425.0,
            "network_to_tcp_us": 0.0,
            "parts": [
                {**slow, **{key: culprit[key] for key in ("name", "process", "relation")}},
                {"stage": "tcp_to_read", "cause": "running", "mean_us": 5.0},  # nobody's
            ],
        },
    }


def test_the_group_with_most_of_the_variance_comes_first():
    of = np.array([1, 1, 1, 2, 2, 3])
    latency = np.array([10.0, 10.0, 10.0, 50.0, 90.0, 11.0])
    first, *others = _groups(of, latency, "connection {}".format)
    assert first == {"name": "connection 2", "requests": 2, "mean_us": 70.0, "variance_us2": 400.0}
    assert [one["name"] for one in others] == ["connection 1", "connection 3"]
    document = {**document_of(REQUEST, traced(), {}), "connections": [first]}
    said, page = render_trace(document, width=100, color=False), render_trace_page(document)
    assert re.search(r"connections with most of the variance.*\n +connection 2 +2 +mean 70", said), said
    assert "connection 2" in page


def test_who_held_requests_up_is_told_by_its_share_of_the_variance_not_by_its_mean():
    document = document_of(REQUEST, {**traced(), "who": held_up()}, {})
    first, *others = document["who"]["parts"]
    assert (first["cause"], first["who"]) == ("run_queue", None)
    # Interrupts go with the waits, a quarter as long: their covariance belongs to both.
    assert first["share_of_variance"]["value"] == pytest.approx(0.8)
    assert others[0]["share_of_variance"]["value"] == pytest.approx(0.2)
    assert first["mean_us"]["value"] < others[0]["mean_us"]["value"]
    assert first["sd_without_us"] == pytest.approx(others[0]["sd_without_us"] / 4, rel=1e-3)
    (culprit,) = document["who"]["culprits"]
    assert culprit["who"]["name"] == "mc-lrumaint"
    jsonschema.validate(document, schemas()["trace"])
    said = render_trace(document, width=100, color=False)
    assert "mc-lrumaint (the server's own): waited for a processor, TCP to read" in said
    assert "The slowest 1" in said


REQUEST = TraceRequest(Server("memcached", os.getpid(), 11211, "memcached"), 4.0)


def test_a_server_that_ended_meanwhile_is_told():
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        gone = TraceRequest(Server("memcached", ended.pid, 11211, "memcached"), 4.0)
        (note,) = document_of(gone, traced(), {})["notes"]
    assert f"memcached (process {ended.pid}) ended during the trace" in note
    alive = TraceRequest(Server("memcached", os.getpid(), 11211, "memcached"), 4.0)
    assert document_of(alive, traced(), {})["notes"] == []


def test_a_trace_says_when_it_made_another_server_of_it():
    used = {9: 16_000 * 12_000}  # 12 us of processor time by request
    cheap = {**traced(), "cost": {**traced()["cost"], "probes_ns": 500_000}}
    assert document_of(REQUEST, cheap, {}, used)["notes"] == []
    (note,) = document_of(REQUEST, traced(), {}, used)["notes"]
    assert "the probes took 1 us of the 12 us of processor time by request (9% more" in note
    # In windows they are there for a part of the time alone.
    windows = {**traced(), "followed_ns": 10**9}
    assert document_of(REQUEST, windows, {}, {9: 64_000 * 12_000})["notes"] == []
    who = held_up()
    who["culprits"][0] |= {"name": "hindmost-trace", "process": os.getpid(), "relation": "other"}
    document = document_of(REQUEST, {**cheap, "who": who}, {}, used)
    (note,) = document["notes"]
    assert "80% of the variance is this trace's own" in note
    assert not [one for one in document["advice"] if "hindmost-trace" in one["change"]]


def test_a_page_names_both_sides_of_each_covariance():
    page = render_trace_page(document_of(REQUEST, traced(), {}))
    heads = re.search(r'aria-label="Covariances">.*?</thead>', page, re.DOTALL)
    assert heads is not None
    assert re.findall(r'<th scope="col">(.*?)</th>', heads[0])[1:] == list(STAGE_NAMES.values())[:5]


def test_the_function_that_begins_requests_is_told_and_one_that_does_not_is_called_so():
    asked = replace(REQUEST, begun=Function(Path("/usr/bin/memcached"), "go"))
    document = document_of(asked, traced(not_begun=80, astray=80), {})
    assert document["begun"] == {
        "file": "/usr/bin/memcached",
        "function": "go",
        "share": 0.995,
        "astray": 0.005,
    }
    assert not [note for note in document["notes"] if "go is not" in note]
    said = "A request begins where go is called, as 99.50\u202f% of them showed."
    assert said in render_trace(document, width=200, color=False)
    assert said in render_trace_page(document)
    for counts, why in (
        ({"not_begun": 800}, "of 5.0% of the requests"),
        ({"astray": 32_000}, "2.00 times a request"),
    ):
        notes = document_of(asked, traced(**counts), {})["notes"]
        assert any("go is not where each request begins" in note and why in note for note in notes), notes


def test_what_others_took_of_the_processors_is_told_and_a_host_that_is_not_calm_is_called_so():
    before, after = Look((0, 1), 100, 1_000), Look((0, 1), 102, 1_800)
    calm = document_of(REQUEST, traced(), {}, None, (before, after))
    assert calm["taken"] == {"cpus": "0-1", "hypervisor_share": 0.0025, "other_programs": None, "calm": True}
    said = "Taken by others: the hypervisor 0.25\u202f% of the time of processors 0-1."
    assert said in render_trace(calm, width=200, color=False)
    assert said in (page := render_trace_page(calm))
    assert "not calm" not in page
    stolen = document_of(REQUEST, traced(), {}, None, (before, replace(after, stolen=110)))
    assert any("the hypervisor took 1.2% of the time of processors 0-1" in note for note in stolen["notes"])
    assert "on a host that was not calm" in render_trace_page(stolen)
    moved = document_of(REQUEST, traced(), {}, None, (before, replace(after, cpus=(0,))))
    assert moved["taken"]["hypervisor_share"] is None
    who = held_up()
    who["culprits"][0] |= {"name": "backup", "relation": "other", "process": 1}
    beside = document_of(REQUEST, {**traced(), "who": who}, {}, None, (before, after))
    others = beside["taken"]["other_programs"]
    assert others["share_of_variance"] == beside["who"]["culprits"][0]["share_of_variance"]["value"] > 0.5
    assert not beside["taken"]["calm"]
    assert any("other programs make" in note for note in beside["notes"])
    who["culprits"][0]["process"] = os.getpid()
    own = document_of(REQUEST, {**traced(), "who": who}, {}, None, (before, after))
    assert own["taken"]["calm"], "the trace itself is told elsewhere"


def test_a_part_of_the_requests_gives_the_processor_time_of_one_of_them():
    used = {9: 16_000 * 12_000}
    all_of_them = document_of(REQUEST, traced(), {}, used)["service"]
    assert (all_of_them["mean_us"], all_of_them["rate_per_s"]) == pytest.approx((12.0, 4000.0))
    # Four times as many came as were seen: in a quarter of the time, or on a quarter of the connections.
    some = {9: 4 * 16_000 * 12_000}
    windows = document_of(REQUEST, {**traced(), "followed_ns": 10**9}, {}, some)
    connections = document_of(replace(REQUEST, one_connection_in=4), traced(), {}, some)
    for document in (windows, connections):
        service = document["service"]
        assert (service["mean_us"], service["rate_per_s"]) == pytest.approx((12.0, 16_000.0))


def test_a_document_tells_variance_from_mean_and_says_where_both_are():
    document = document_of(REQUEST, traced(), {})
    assert document["critical"] == {"by_variance": "tcp_to_read", "by_mean": "start_to_response"}
    assert [stage["stage"] for stage in document["all"]["stages"]] == list(STAGES)
    shares = [stage["share_of_variance"]["value"] for stage in document["all"]["stages"]]
    assert sum(shares) == pytest.approx(1)
    assert document["all"]["closure"] < 1e-9
    assert set(document["kinds"]) == {"get", "set"}
    # Gets and sets are 6 us apart, and vary by 5 us each.
    assert document["between_kinds"] == pytest.approx(9 / (9 + 25), rel=0.1)
    assert document["matched"] == 1
    assert document["unmatched"] == document["notes"] == []
    json.dumps(document, allow_nan=False)


def test_requests_that_were_not_followed_stand_under_their_causes():
    lost = traced(seen=16100, ambiguous=64, closed=16)
    document = document_of(REQUEST, lost, {})
    told = {one["cause"]: one["requests"] for one in document["unmatched"]}
    assert told == {"ambiguous": 64, "closed": 16, "open": 20}
    assert document["matched"] == 16000 / 16080  # those in flight are no loss
    assert "flatter" in document["notes"][0]
    said = render_trace(document, width=100, color=False)
    assert "not followed: 64" in said


def test_stages_that_do_not_add_up_are_said():
    broken = traced()
    for block in broken["blocks"]:
        for kind in block["kinds"]:
            kind["latency_square"] *= 1.01
    notes = document_of(REQUEST, broken, {})["notes"]
    assert any("add up" in note for note in notes)


def test_the_screen_names_the_critical_stage_and_why_the_longest_is_another():
    said = render_trace(document_of(REQUEST, traced(), {}), width=100, color=False)
    lines = said.splitlines()
    assert lines[0].startswith(
        "memcached, port 11211, memcached: 16\u202f000 requests in 4.00 s (4000/s), 100\u202f%"
    )
    assert "Most of the variance arises in: TCP to read. The longest stage on average is" in said
    (row,) = [line for line in lines if line.startswith("TCP to read")]
    assert "█" in row
    assert all(len(line) <= 130 for line in lines)


def test_packets_are_to_be_taken_in_where_the_server_is_not(tmp_path):
    net, queue = tmp_path / "proc/net", tmp_path / "sys/class/net/lo/queues/rx-0"
    net.mkdir(parents=True)
    queue.mkdir(parents=True)
    (net / "tcp").write_text(f"head\n0: 0100007F:{11211:04X} 0100007F:D431 01 rest\n")
    (queue / "rps_cpus").write_text("0\n")
    every = os.cpu_count() or 1
    here = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {here})
        found = inbound(11211, None, tmp_path)
    finally:
        os.sched_setaffinity(0, before)
    assert found is not None
    assert (found.knob, found.now) == ('knob = "rps@lo"', "0")
    elsewhere = int(found.elsewhere.replace(",", ""), 16)
    assert elsewhere == ((1 << every) - 1 & ~(1 << here) or 1)
    assert inbound(9, None, tmp_path) is None, "no connection"
    who = held_up()
    who["culprits"][0] |= {"name": "softirq NET_RX", "process": 0, "relation": "interrupt"}
    document = document_of(REQUEST, {**traced(), "who": who}, {})
    (first, *_) = advice(document, None, found)
    assert (first["knob"], first["levels"]) == ('knob = "rps@lo"', ["0", found.elsewhere])


def test_advice_follows_the_culprit_of_the_variance_and_says_what_it_would_be_worth():
    document = document_of(REQUEST, {**traced(), "who": held_up()}, {}, {9: 2 * 10**9, 10: 10})
    assert document["service"]["workers"] == 1
    assert document["service"]["mean_us"] == pytest.approx(125)
    first, *others = document["advice"]
    assert (first["knob"], first["levels"]) == ('argument = "-o no_lru_maintainer"', ["off", "on"])
    (now, then), waited = first["predicted"]["mean_us"], document["who"]["culprits"][0]["mean_us"]["value"]
    assert now - then == pytest.approx(waited)
    assert first["predicted"]["sd_us"][1] == document["who"]["culprits"][0]["sd_without_us"]
    assert not [one for one in others if one["stage"] == "tcp_to_read"]
    said = render_trace(document, width=100, color=False)
    rate = document["service"]["rate_per_s"]
    (line,) = [line for line in said.splitlines() if "no_lru_maintainer\"'" in line]
    words = shlex.split(line.partition("try it: ")[2])
    assert words[:4] == ["hindmost", "trial", "memcached", "--rate"]
    assert float(words[4]) == pytest.approx(rate, rel=0.05)
    assert words[5:] == ["--knob", 'argument = "-o no_lru_maintainer"', "--levels", "off,on"]
    other = replace(REQUEST, server=replace(REQUEST.server, name="ours"))
    unknown = document_of(other, {**traced(), "who": held_up()}, {})["advice"]
    assert unknown[0]["knob"] == 'schedule = "mc-lrumaint"'
    assert unknown[0]["trial"].startswith("hindmost trial TARGET --rate RATE --knob 'schedule")
    assert document_of(REQUEST, traced(), {})["advice"][0]["change"].startswith("trace again with --who")


def test_what_one_trial_would_try_is_advised_once_and_names_all_whom_it_is_about():
    who = held_up()
    (maintainer,) = who["culprits"]
    backup, indexer = ({**maintainer, "name": name, "relation": "other"} for name in ("backup", "indexer"))
    who["culprits"] = [backup, indexer, maintainer]
    document = document_of(REQUEST, {**traced(), "who": who}, {})
    assert [one["knob"] for one in document["advice"]][:2] == [
        "schedule = true",
        'argument = "-o no_lru_maintainer"',
    ]
    assert document["advice"][0]["why"].endswith("requests waited for it: backup; so had indexer")


def test_what_nobody_is_charged_with_is_no_culprit_and_is_said_with_its_reasons():
    who = held_up()
    (maintainer,) = who["culprits"]
    unseen = {**maintainer, "name": "unknown", "process": 0, "relation": "unknown", "requests": 3}
    who["culprits"] = [{**unseen, "cause": "unseen"}, unseen, maintainer]
    document = document_of(REQUEST, {**traced(), "who": who}, {})
    jsonschema.validate(document, schemas()["trace"])
    assert [one["who"]["name"] for one in document["who"]["culprits"]] == ["mc-lrumaint"]
    assert [one["cause"] for one in document["who"]["unknown"]] == ["unseen", "run_queue"]
    said = " ".join(render_trace(document, width=100, color=False).split())
    page = render_trace_page(document)
    for text in ("what the thread did was not told", "who had the processor was not told"):
        assert text in said
        assert text in page
    assert said.count("in 3 of 20") == said.count("Charged to nobody") == 2, said


def test_the_page_shows_path_culprits_and_slowest_and_an_earlier_trace_beside():
    document = document_of(REQUEST, {**traced(), "who": held_up()}, {})
    page = render_trace_page(document)
    assert "most of the variance arises in TCP to read, while start to response takes longest" in page
    assert page.count("<svg") == 6  # path, variance, slowest: each for wide screens and for narrow ones
    assert "mc-lrumaint (the server&#39;s own): waited for a processor" not in page
    assert "mc-lrumaint (the server&#39;s own)" in page
    assert "Before and after" not in page
    faster = json.loads(json.dumps(document))
    faster["all"]["stages"][1]["mean_us"]["value"] /= 2
    beside = render_trace_page(faster, document)
    row = re.search(r"<th scope=\"row\">TCP to read</th>(<td>[^<]*</td>){2}<td>0.50</td>", beside)
    assert row is not None


def test_service_times_never_overlap_and_a_batch_answered_at_once_is_shared_out():
    generator = np.random.default_rng(5)
    start = np.sort(generator.integers(0, 10**6, 400))
    thread = generator.integers(1, 4, 400)
    rows = served(start - 5, start, start + generator.integers(0, 10**5, 400), thread)
    for one in np.unique(thread):
        own = rows[rows[:, 3] == one]
        assert (own[1:, 1] >= own[:-1, 2]).all()
    assert (rows[:, 2] > rows[:, 1]).all()
    assert (rows[:, 0] <= rows[:, 1]).all()
    assert len(rows) > 300


def test_a_process_is_found_with_its_port_and_what_it_speaks():
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        found = find_server(str(os.getpid()), port=port)
        assert (found.pid, found.port, found.protocol) == (os.getpid(), port, "exchange")
        assert find_server(str(os.getpid()), port=port, protocol="redis").framing == '"redis"'
        assert os.getpid() in found.threads()
        with socket.create_server(("127.0.0.1", 0)) as two:
            with pytest.raises(UsageError, match="ports") as told:
                find_server(str(os.getpid()))
            assert "--port" in str(told.value.hint)
            assert two.getsockname()[1]
        with pytest.raises(UsageError, match="does not listen on port 9"):
            find_server(str(os.getpid()), port=9)
        address = find_server(f"http://127.0.0.1:{port}")
        assert (address.pid, address.port, address.protocol) == (os.getpid(), port, "http")


def test_what_cannot_be_traced_is_refused_with_what_to_do():
    for text, kind, word in [
        ("memcached", UsageError, "PID"),
        ("memcached://192.0.2.1", UsageError, "on 192.0.2.1"),
        ("4194304", TargetError, "pgrep"),
        ("memcached://127.0.0.1:1", TargetError, "hindmost trace PID"),
    ]:
        with pytest.raises(kind) as told:
            find_server(text)
        assert word in str(told.value.hint)
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        for protocol in ("memcache", "length:", "length:1", "length:0,9", "length:0,x"):
            with pytest.raises(UsageError):
                find_server(str(os.getpid()), port=port, protocol=protocol)
        field = find_server(str(os.getpid()), port=port, protocol="length:4,2le,-6").framing
    assert json.loads(field) == {"length": {"offset": 4, "width": 2, "little": True, "more": -6}}
    windows = [{"one_window_in": 0}, {"one_window_in": 6}]
    for wrong in ({"duration_s": 0.1}, {"one_connection_in": 0}, {"every": 0}, *windows):
        with pytest.raises(UsageError):
            TraceRequest(REQUEST.server, **wrong).check()


def test_what_the_host_lacks_is_told_with_what_to_do(tmp_path: Path):
    assert "CAP_BPF" in str(unable("trace-permission", "refused", tmp_path).hint)
    lockdown = tmp_path / "sys/kernel/security/lockdown"
    lockdown.parent.mkdir(parents=True)
    lockdown.write_text("none integrity [confidentiality]\n")
    assert "lockdown" in str(unable("trace-permission", "refused", tmp_path).hint)
    assert "6.3" in str(unable("trace-tracepoint", "the kernel has no tracepoint x", tmp_path).hint)
    assert "BTF" in str(unable("trace-btf", "none", tmp_path).hint)


def test_a_document_is_as_its_schema_says():
    document = document_of(REQUEST, traced(seen=16100, ambiguous=64), {})
    jsonschema.Draft202012Validator(schemas()["trace"]).validate(document)
