"""Trace documents: server, missing support of the host, contents and terminal output."""

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
from messages import assert_error, raises
from rows import each_row

from hindmost.commands.trace.view.names import CAUSES
from hindmost.commands.trace.view.names import STAGES as STAGE_NAMES
from hindmost.commands.trace.view.page import render_trace_page
from hindmost.commands.trace.view.terminal import render_trace
from hindmost.core.codes import CODES
from hindmost.core.store.schema import schemas
from hindmost.core.tracing.advice import Service, advise
from hindmost.core.tracing.answer import document_of
from hindmost.core.tracing.begin_probe import Function
from hindmost.core.tracing.groups import _groups
from hindmost.core.tracing.inbound import find_inbound
from hindmost.core.tracing.interference import CpuCounters
from hindmost.core.tracing.server import Server, find_server
from hindmost.core.tracing.support import tracing_error
from hindmost.core.tracing.times import service_rows
from hindmost.core.tracing.tracing import TraceRequest
from hindmost.errors import HindmostError, TargetError, UsageError
from hindmost.stats.stages import STAGES

COUNTS = dict.fromkeys(
    [
        *("seen", "done", "no_arrival", "ring_full", "ambiguous", "closed", "silent", "before", "unframed"),
        *("unreadable", "parts_late", "stamp_missing", "records_lost", "connections", "batched"),
        *("not_begun", "astray", "arrived", "datagrams"),
    ],
    0,
)


def trace_of(**counts: int) -> dict:
    """Return a trace of two kinds with its variance in the second stage and its mean in the fourth."""
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


def interference_document() -> dict:
    """Return a trace with rare long waits for the maintainer and equal interrupts in all requests."""
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
                {"stage": "tcp_to_read", "cause": "running", "mean_us": 5.0},  # no other thread
            ],
        },
    }


def test_the_group_with_most_of_the_variance_comes_first():
    of = np.array([1, 1, 1, 2, 2, 3])
    latency = np.array([10.0, 10.0, 10.0, 50.0, 90.0, 11.0])
    first, *others = _groups(of, latency, "connection {}".format)
    assert first == {"name": "connection 2", "requests": 2, "mean_us": 70.0, "variance_us2": 400.0}
    assert [other["name"] for other in others] == ["connection 1", "connection 3"]
    document = {**document_of(REQUEST, trace_of(), {}), "connections": [first]}
    said, page = render_trace(document, width=100, color=False), render_trace_page(document)
    assert re.search(r"connection 2 +2 +mean 70", said), said
    assert "connection 2" in page


def test_interference_is_ranked_by_its_share_of_the_variance():
    document = document_of(REQUEST, {**trace_of(), "who": interference_document()}, {})
    first, *others = document["who"]["parts"]
    assert (first["cause"], first["who"]) == ("run_queue", None)
    # Interrupts correlate with the waits at a quarter of their length; their covariance belongs to both.
    assert first["share_of_variance"]["value"] == pytest.approx(0.8)
    assert others[0]["share_of_variance"]["value"] == pytest.approx(0.2)
    assert first["mean_us"]["value"] < others[0]["mean_us"]["value"]
    assert first["sd_without_us"] == pytest.approx(others[0]["sd_without_us"] / 4, rel=1e-3)
    (culprit,) = document["who"]["culprits"]
    assert culprit["who"]["name"] == "mc-lrumaint"
    jsonschema.validate(document, schemas()["trace"])
    trace = render_trace(document, width=100, color=False)
    (line,) = [line for line in trace.splitlines() if "µs" in line and "mc-lrumaint" in line and "80" in line]
    assert CAUSES["run_queue"] in line
    assert STAGE_NAMES["tcp_to_read"] in line


def codes(document: dict) -> list[str]:
    result = [note["code"] for note in document["notes"]]
    assert CODES.keys() >= set(result)
    return result


REQUEST = TraceRequest(Server("memcached", os.getpid(), 11211, "memcached"), 4.0)


def test_a_server_that_ends_during_the_trace_is_reported():
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        gone = TraceRequest(Server("memcached", ended.pid, 11211, "memcached"), 4.0)
        (note,) = document_of(gone, trace_of(), {})["notes"]
    assert (note["code"], note["values"]) == ("server-ended", {"name": "memcached", "pid": ended.pid})
    alive = TraceRequest(Server("memcached", os.getpid(), 11211, "memcached"), 4.0)
    assert document_of(alive, trace_of(), {})["notes"] == []


def test_a_trace_reports_its_overhead():
    used = {9: 16_000 * 12_000}  # 12 us of processor time by request
    cheap = {**trace_of(), "cost": {**trace_of()["cost"], "probes_ns": 500_000}}
    assert document_of(REQUEST, cheap, {}, used)["notes"] == []
    (note,) = document_of(REQUEST, trace_of(), {}, used)["notes"]
    assert note["code"] == "probe-overhead"
    assert note["values"] == pytest.approx({"probes_us": 1.0, "request_us": 12.0, "share": 1 / 12})
    # Probes also run for other traffic, so they can cost more than the server uses.
    other = {**trace_of(), "cost": {**trace_of()["cost"], "probes_ns": 120 * 500_000 * 2}}
    (note,) = document_of(REQUEST, other, {}, used)["notes"]
    assert note["values"]["share"] == pytest.approx(note["values"]["probes_us"] / 12.0)
    # In windows they run for a part of the time.
    windows = {**trace_of(), "followed_ns": 10**9}
    assert document_of(REQUEST, windows, {}, {9: 64_000 * 12_000})["notes"] == []
    who = interference_document()
    who["culprits"][0] |= {"name": "hindmost-trace", "process": os.getpid(), "relation": "other"}
    document = document_of(REQUEST, {**cheap, "who": who}, {}, used)
    (note,) = document["notes"]
    assert (note["code"], note["values"]["share"]) == ("trace-interference", pytest.approx(0.8))
    assert "move-program" not in [one["code"] for one in document["advice"]]


def test_a_page_names_both_sides_of_each_covariance():
    page = render_trace_page(document_of(REQUEST, trace_of(), {}))
    heads = re.search(r'aria-label="Covariances">.*?</thead>', page, re.DOTALL)
    assert heads is not None
    assert re.findall(r'<th scope="col">(.*?)</th>', heads[0])[1:] == list(STAGE_NAMES.values())[:5]


def test_a_function_that_some_requests_skip_is_reported():
    asked = replace(REQUEST, begun=Function(Path("/usr/bin/memcached"), "go"))
    document = document_of(asked, trace_of(not_begun=80, astray=80), {})
    assert document["begun"] == {
        "file": "/usr/bin/memcached",
        "function": "go",
        "share": 0.995,
        "astray": 0.005,
    }
    assert "wrong-begin-function" not in codes(document)
    for rendered in (render_trace(document, width=200, color=False), render_trace_page(document)):
        assert "99.50\u202f%" in rendered
    for counts, missed, astray in (({"not_begun": 800}, 0.05, 0.0), ({"astray": 32_000}, 0.0, 2.0)):
        (note,) = document_of(asked, trace_of(**counts), {})["notes"]
        assert note["code"] == "wrong-begin-function"
        assert note["values"].pop("function") == "go"
        assert note["values"] == pytest.approx({"missed": missed, "astray": astray})


def test_interference_on_the_servers_cpus_is_reported():
    before, after = CpuCounters((0, 1), 100, 1_000), CpuCounters((0, 1), 102, 1_800)
    isolated = document_of(REQUEST, trace_of(), {}, None, (before, after))
    assert isolated["taken"] == {
        "cpus": "0-1",
        "hypervisor_share": 0.0025,
        "other_programs": None,
        "isolated": True,
    }
    for rendered in (render_trace(isolated, width=200, color=False), page := render_trace_page(isolated)):
        assert "0.25\u202f%" in rendered
    assert 'class="verdict valid"' in page
    stolen = document_of(REQUEST, trace_of(), {}, None, (before, replace(after, stolen=110)))
    (note,) = stolen["notes"]
    values = {"cpus": "0-1", "hypervisor_share": 0.0125, "other_programs_share": None}
    assert (note["code"], note["values"]) == ("host-interference", values)
    assert 'class="verdict inconclusive"' in render_trace_page(stolen)
    moved = document_of(REQUEST, trace_of(), {}, None, (before, replace(after, cpus=(0,))))
    assert moved["taken"]["hypervisor_share"] is None
    who = interference_document()
    who["culprits"][0] |= {"name": "backup", "relation": "other", "process": 1}
    beside = document_of(REQUEST, {**trace_of(), "who": who}, {}, None, (before, after))
    others = beside["taken"]["other_programs"]
    assert others["share_of_variance"] == beside["who"]["culprits"][0]["share_of_variance"]["value"] > 0.5
    assert not beside["taken"]["isolated"]
    assert beside["notes"][0]["values"]["other_programs_share"] == others["share_of_variance"]
    who["culprits"][0]["process"] = os.getpid()
    own = document_of(REQUEST, {**trace_of(), "who": who}, {}, None, (before, after))
    assert own["taken"]["isolated"], "the trace has its own note"


def test_a_sample_of_requests_gives_the_processor_time_per_request():
    used = {9: 16_000 * 12_000}
    all_of_them = document_of(REQUEST, trace_of(), {}, used)["service"]
    assert (all_of_them["mean_us"], all_of_them["rate_per_s"]) == pytest.approx((12.0, 4000.0))
    # A quarter of the requests is traced: a quarter of the time, or of the connections.
    some = {9: 4 * 16_000 * 12_000}
    windows = document_of(REQUEST, {**trace_of(), "followed_ns": 10**9}, {}, some)
    connections = document_of(replace(REQUEST, one_connection_in=4), trace_of(), {}, some)
    for document in (windows, connections):
        service = document["service"]
        assert (service["mean_us"], service["rate_per_s"]) == pytest.approx((12.0, 16_000.0))


def test_a_document_separates_variance_from_mean():
    document = document_of(REQUEST, trace_of(), {})
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


def test_untraced_requests_are_listed_by_cause():
    lost = trace_of(seen=16100, ambiguous=64, closed=16)
    document = document_of(REQUEST, lost, {})
    result = {one["cause"]: one["requests"] for one in document["unmatched"]}
    assert result == {"ambiguous": 64, "closed": 16, "open": 20}
    jsonschema.validate(document, schemas()["trace"])
    assert document["matched"] == 16000 / 16080  # requests in flight are not lost
    (note,) = document["notes"]
    assert (note["code"], note["values"]["share"]) == ("unmatched-requests", pytest.approx(80 / 16080))
    outcome = " ".join(render_trace(document, width=100, color=False).split())
    for one in document["unmatched"]:
        assert f"{one['requests']} requests: {one['why']}" in outcome


def test_stages_that_do_not_add_up_are_reported():
    broken = trace_of()
    for block in broken["blocks"]:
        for kind in block["kinds"]:
            kind["latency_square"] *= 1.01
    assert codes(document_of(REQUEST, broken, {})) == ["open-stages"]


@each_row(
    ("counts", "code"),
    [
        ({"unframed": 3}, "unframed-bytes"),
        ({"unreadable": 3}, "unreadable-reads"),
        ({"stamp_missing": 17}, "missing-stamps"),
        ({"records_lost": 3}, "lost-records"),
    ],
)
def test_gaps_of_the_probes_are_reported_with_their_count(counts, code):
    (note,) = document_of(REQUEST, trace_of(**counts), {})["notes"]
    assert (note["code"], note["values"]["count"]) == (code, *counts.values())


def test_a_document_of_an_earlier_version_is_shown_with_notes():
    document = {**document_of(REQUEST, trace_of(), {}), "notes": ["a sentence"]}
    assert "note: a sentence" in render_trace(document, width=100, color=False)
    assert "<li>a sentence</li>" in render_trace_page(document)


def test_the_screen_names_the_critical_stage_and_the_longest():
    trace = render_trace(document_of(REQUEST, trace_of(), {}), width=100, color=False)
    lines = trace.splitlines()
    for value in ("memcached", "11211", "16,000", "4.00 s", "4000/s", "100\u202f%"):
        assert value in lines[0]
    below = trace.partition(STAGE_NAMES["latency"])[2]
    assert below.index(STAGE_NAMES["tcp_to_read"]) < below.index(STAGE_NAMES["start_to_response"])
    (row,) = [line for line in lines if line.startswith("TCP to read")]
    assert "█" in row
    assert all(len(line) <= 130 for line in lines)


def test_packets_should_be_processed_away_from_the_server(tmp_path):
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
        inbound = find_inbound(11211, None, tmp_path)
    finally:
        os.sched_setaffinity(0, before)
    assert inbound is not None
    assert (inbound.knob, inbound.now) == ('knob = "rps@lo"', "0")
    elsewhere = int(inbound.elsewhere.replace(",", ""), 16)
    assert elsewhere == ((1 << every) - 1 & ~(1 << here) or 1)
    assert find_inbound(9, None, tmp_path) is None, "no connection"
    who = interference_document()
    who["culprits"][0] |= {"name": "softirq NET_RX", "process": 0, "relation": "interrupt"}
    document = document_of(REQUEST, {**trace_of(), "who": who}, {})
    (first, *_) = advise(document, None, inbound)
    assert (first["knob"], first["levels"]) == ('knob = "rps@lo"', ["0", inbound.elsewhere])


def test_advice_follows_the_cause_of_the_variance_with_its_gain():
    document = document_of(
        REQUEST, {**trace_of(), "who": interference_document()}, {}, {9: 2 * 10**9, 10: 10}
    )
    assert document["service"]["workers"] == 1
    assert document["service"]["mean_us"] == pytest.approx(125)
    first, *others = document["advice"]
    assert (first["knob"], first["levels"]) == ('argument = "-o no_lru_maintainer"', ["off", "on"])
    (now, then), waited = first["predicted"]["mean_us"], document["who"]["culprits"][0]["mean_us"]["value"]
    assert now - then == pytest.approx(waited)
    assert first["predicted"]["sd_us"][1] == document["who"]["culprits"][0]["sd_without_us"]
    assert not [other for other in others if other["stage"] == "tcp_to_read"]
    trace = render_trace(document, width=100, color=False)
    rate = document["service"]["rate_per_s"]
    (line,) = [line for line in trace.splitlines() if 'no_lru_maintainer" =' in line]
    words = shlex.split(line[line.index("hindmost compare") :])
    assert words[:4] == ["hindmost", "compare", "memcached", "--rate"]
    assert float(words[4]) == pytest.approx(rate, rel=0.05)
    assert words[5:] == ["--set", 'argument = "-o no_lru_maintainer" = off,on']
    other = replace(REQUEST, server=replace(REQUEST.server, name="ours"))
    unknown = document_of(other, {**trace_of(), "who": interference_document()}, {})["advice"]
    assert unknown[0]["knob"] == 'schedule = "mc-lrumaint"'
    assert unknown[0]["trial"].startswith("hindmost compare TARGET --rate RATE --set 'schedule")
    assert document_of(REQUEST, trace_of(), {})["advice"][0]["code"] == "trace-threads"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file requires root")
def test_the_file_of_a_function_is_resolved_in_the_namespace_of_the_server(tmp_path):
    ours, theirs = tmp_path / "program", tmp_path / "other"
    ours.write_text("ours")
    theirs.write_text("theirs")
    script = f"mount --bind {theirs} {ours} && echo ready && exec sleep 60"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE) as server:
        try:
            if server.stdout.readline() != b"ready\n":
                pytest.skip("namespaces are not available")
            of_server = Function.parse(f"{ours}:go", Server("x", server.pid, 1, "http"))
            assert of_server.file.read_text() == "theirs"
            own = Function.parse(f"{ours}:go", Server("x", os.getpid(), 1, "http"))
            assert own == Function(ours, "go")
        finally:
            server.kill()


def advice_codes(who: dict | None, used: dict | None = None, mean_us: tuple[float, ...] = ()) -> list[str]:
    """Return the codes of the advice if the culprit has most of the variance."""
    document = document_of(REQUEST, {**trace_of(), "who": who}, {}, used)
    for stage, mean in zip(document["all"]["stages"], mean_us, strict=False):
        stage["mean_us"]["value"] = mean
    service = Service(1, 4000.0, 12.0, 9.0, 2000.0) if used else None
    return [one["code"] for one in advise(document, service)]


@pytest.mark.parametrize(
    ("culprit", "code"),
    [
        ({"cause": "blocked", "name": "timer", "relation": "interrupt"}, "remove-sleep"),
        ({"cause": "wake", "name": "timer", "relation": "interrupt"}, "remove-sleep"),
        ({"cause": "wake", "name": "network or disk", "relation": "interrupt"}, "measure-upstream"),
        ({"cause": "lock", "name": "mc-lrumaint", "relation": "own"}, "maintenance-lock"),
        ({"cause": "lock", "name": "mc-worker", "relation": "own"}, "fewer-threads"),
    ],
)
def test_advice_depends_on_the_cause_of_waiting(culprit, code):
    who = interference_document()
    who["culprits"][0] |= {"stage": "start_to_response", **culprit}
    assert advice_codes(who)[0] == code


def test_advice_omits_useless_profiles_and_traces():
    asleep = (1.0, 1.0, 1.0, 2000.0, 1.0)
    assert "profile-server" in advice_codes(None)
    assert "profile-server" not in advice_codes(None, {9: 16_000 * 12_000}, asleep)
    assert "trace-threads" in advice_codes(None, {9: 16_000 * 12_000}, asleep)
    assert "trace-threads" not in advice_codes({**interference_document(), "culprits": []})


def test_delayed_acknowledgements_and_page_faults_are_reported():
    assert "no-delay" not in advice_codes(None)
    held_back = document_of(REQUEST, trace_of(), {})
    held_back["all"]["stages"][4]["mean_us"]["value"] = 40_000.0
    held_back["all"]["stages"][4]["share_of_variance"] = {"value": 0.9}
    assert advise(held_back, None)[0]["code"] == "no-delay"
    faulting = interference_document()
    faulting["threads"][0]["page_faults"] = 20_000 * 400
    assert "fewer-faults" in advice_codes(faulting)


def test_variance_and_mean_of_service_cover_the_same_time():
    service = document_of(REQUEST, trace_of(), {}, {9: 16_000 * 12_000})["service"]
    stages = document_of(REQUEST, trace_of(), {})["all"]["stages"][3:]
    assert service["occupied_us"] == pytest.approx(sum(stage["mean_us"]["value"] for stage in stages))
    assert service["c2"] == pytest.approx(service["variance_us2"] / service["occupied_us"] ** 2)


def test_advice_for_the_same_trial_is_merged():
    who = interference_document()
    (maintainer,) = who["culprits"]
    backup, indexer = ({**maintainer, "name": name, "relation": "other"} for name in ("backup", "indexer"))
    who["culprits"] = [backup, indexer, maintainer]
    document = document_of(REQUEST, {**trace_of(), "who": who}, {})
    assert [one["knob"] for one in document["advice"]][:2] == [
        "schedule = true",
        'argument = "-o no_lru_maintainer"',
    ]
    first = document["advice"][0]
    assert (first["who"]["name"], first["also"]) == ("backup", ["indexer"])
    assert "indexer" in first["why"]


def test_unattributed_time_is_shown_with_its_reasons():
    who = interference_document()
    (maintainer,) = who["culprits"]
    unseen = {**maintainer, "name": "unknown", "process": 0, "relation": "unknown", "requests": 3}
    who["culprits"] = [{**unseen, "cause": "unseen"}, unseen, maintainer]
    document = document_of(REQUEST, {**trace_of(), "who": who}, {})
    jsonschema.validate(document, schemas()["trace"])
    assert [culprit["who"]["name"] for culprit in document["who"]["culprits"]] == ["mc-lrumaint"]
    assert [one["cause"] for one in document["who"]["unknown"]] == ["unseen", "run_queue"]
    result = " ".join(render_trace(document, width=100, color=False).split())
    page = render_trace_page(document)
    for one in document["who"]["unknown"]:
        assert one["why"] in result
        assert one["why"] in page
    assert result.count("in 3 of 20") == 2, result


def test_the_page_shows_path_causes_slowest_requests_and_an_earlier_trace():
    document = document_of(REQUEST, {**trace_of(), "who": interference_document()}, {})
    page = render_trace_page(document)
    heading = re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)
    assert heading is not None
    assert heading[1].index("TCP to read") < heading[1].index("start to response")
    assert page.count("<svg") == 6  # path, variance, slowest: each for wide screens and for narrow ones
    assert page.count("mc-lrumaint (the server&#39;s own)") >= 1
    assert 'id="h-before"' not in page
    faster = json.loads(json.dumps(document))
    faster["all"]["stages"][1]["mean_us"]["value"] /= 2
    beside = render_trace_page(faster, document)
    row = re.search(r"<th scope=\"row\">TCP to read</th>(<td>[^<]*</td>){2}<td>0.50</td>", beside)
    assert row is not None


def test_service_times_never_overlap_and_a_batch_is_divided():
    generator = np.random.default_rng(5)
    start = np.sort(generator.integers(0, 10**6, 400))
    thread = generator.integers(1, 4, 400)
    rows = service_rows(start - 5, start, start + generator.integers(0, 10**5, 400), thread)
    for one in np.unique(thread):
        own = rows[rows[:, 3] == one]
        assert (own[1:, 1] >= own[:-1, 2]).all()
    assert (rows[:, 2] > rows[:, 1]).all()
    assert (rows[:, 0] <= rows[:, 1]).all()
    assert len(rows) > 300


def test_a_process_is_found_with_its_port_and_protocol():
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        server = find_server(str(os.getpid()), port=port)
        assert (server.pid, server.port, server.protocol) == (os.getpid(), port, "exchange")
        assert find_server(str(os.getpid()), port=port, protocol="redis").framing == '"redis"'
        assert os.getpid() in server.threads()
        with socket.create_server(("127.0.0.1", 0)) as two:
            ports = sorted([port, two.getsockname()[1]])
            with raises(UsageError, "ambiguous-port", option="--port", known=ports):
                find_server(str(os.getpid()))
        with raises(UsageError, "not-listening", option="--port", value=9):
            find_server(str(os.getpid()), port=9)
        address = find_server(f"http://127.0.0.1:{port}")
        assert (address.pid, address.port, address.protocol) == (os.getpid(), port, "http")


@each_row(
    ("text", "kind", "code", "fields"),
    [
        ("memcached", UsageError, "needs-running-server", {"target": "memcached"}),
        ("memcached://192.0.2.1", UsageError, "remote-server", {"host": "192.0.2.1"}),
        ("4194304", TargetError, "no-such-process", {"pid": 4194304}),
        ("memcached://127.0.0.1:1", TargetError, "not-listening", {"host": "127.0.0.1", "port": 1}),
    ],
)
def test_a_server_that_cannot_be_traced_is_refused(text, kind, code, fields):
    with raises(kind, code, **fields):
        find_server(text)


def test_invalid_protocols_and_traces_are_refused():
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        with raises(UsageError, "unknown-name", option="--protocol", value="memcache"):
            find_server(str(os.getpid()), port=port, protocol="memcache")
        for protocol in ("length:", "length:1", "length:0,9", "length:0,x"):
            with raises(UsageError, "bad-value", option="--protocol", value=protocol):
                find_server(str(os.getpid()), port=port, protocol=protocol)
        field = find_server(str(os.getpid()), port=port, protocol="length:4,2le,-6").framing
    assert json.loads(field) == {"length": {"offset": 4, "width": 2, "little": True, "more": -6}}
    for wrong, option in (
        ({"duration_s": 0.1}, "--duration"),
        ({"one_connection_in": 0}, "--connections"),
        ({"every": 0}, "--every"),
        ({"one_window_in": 0}, "--windows"),
        ({"one_window_in": 6}, "--duration"),
    ):
        with raises(UsageError, "bad-value", option=option):
            TraceRequest(REQUEST.server, **wrong).check()


def test_missing_support_of_the_host_is_reported_with_a_hint(tmp_path: Path):
    def refusal(code: str) -> HindmostError:
        result = tracing_error(code, "refused", tmp_path)
        assert_error(result, code)
        return result

    unlocked = refusal("trace-permission").hint
    lockdown = tmp_path / "sys/kernel/security/lockdown"
    lockdown.parent.mkdir(parents=True)
    lockdown.write_text("none integrity [confidentiality]\n")
    hints = [
        unlocked,
        *(refusal(f"trace-{one}").hint for one in ("permission", "tracepoint", "btf", "probe")),
    ]
    assert len(set(hints)) == 5
    assert "CAP_BPF" in str(unlocked)
    assert "lockdown=confidentiality" in str(hints[1])


def test_a_clock_that_shows_no_service_time_leaves_it_unknown():
    used = {9: 16_000 * 12_000}
    coarse = trace_of()
    for block in coarse["blocks"]:
        for kind in block["kinds"]:
            kind["mean_ns"][3:5] = [0.0, 0.0]
    assert document_of(REQUEST, trace_of(), {}, used)["service"] is not None
    assert document_of(REQUEST, coarse, {}, used)["service"] is None
