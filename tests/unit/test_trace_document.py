"""Trace documents: server, missing support of the host, contents and terminal output."""

import json
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from messages import assert_error, assert_refused, raises
from msgspec import structs
from rows import each_row

from hindmost.commands.trace.profile import draw_flame
from hindmost.commands.trace.view import view
from hindmost.commands.trace.wording import CAUSES
from hindmost.commands.trace.wording import STAGES as STAGE_NAMES
from hindmost.core.codes import CODES
from hindmost.core.store.estimates import encode, to_document
from hindmost.core.store.schema import schemas
from hindmost.core.tracing.advice import advise
from hindmost.core.tracing.answer import document_of
from hindmost.core.tracing.begin_probe import Function
from hindmost.core.tracing.document import Figure, Group, Service, StartProbe, Trace, Windows, read_trace
from hindmost.core.tracing.groups import _groups
from hindmost.core.tracing.inbound import find_inbound
from hindmost.core.tracing.interference import CpuCounters
from hindmost.core.tracing.profile import top_functions
from hindmost.core.tracing.server import Server, find_server
from hindmost.core.tracing.support import tracing_error
from hindmost.core.tracing.times import service_rows
from hindmost.core.tracing.tracing import TraceRequest
from hindmost.core.tracing.windows import choose_windows, most_windows
from hindmost.errors import HindmostError, TargetError, UsageError
from hindmost.present.blocks import Section, Table, select
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal
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
        **{"who": None, "profile": None, "profile_fault": None, "waits": None},
        "cost": {
            **{"reader_ns": 8 * 10**6, "attached_ns": 4 * 10**9},
            **{"probes_ns": 10**6, "costed_requests": 1000, "probes": []},
        },
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


def rendered(document: Trace, before: Trace | None = None) -> tuple[str, str]:
    """Return the terminal's text and the page."""
    shown = view(document, before)
    return render_terminal(shown, width=100, color=False), render_page(shown)


def tables(document: Trace, where: str, title: str, before: Trace | None = None) -> list[list[list[str]]]:
    """Return the texts of the rows of each table in a section."""
    sections = [one for one in select(view(document, before).blocks, where) if isinstance(one, Section)]
    (section,) = [one for one in sections if one.title == title]
    return [
        [[cell if isinstance(cell, str) else cell.text for cell in row] for row in one.rows]
        for one in section.blocks
        if isinstance(one, Table)
    ]


def test_the_group_with_most_of_the_variance_comes_first():
    of = np.array([1, 1, 1, 2, 2, 3])
    latency = np.array([10.0, 10.0, 10.0, 50.0, 90.0, 11.0])
    first, *others = _groups(of, latency, "connection {}".format)
    assert first == Group(name="connection 2", requests=2, mean_us=70.0, variance_us2=400.0)
    assert [other.name for other in others] == ["connection 1", "connection 3"]
    document = structs.replace(document_of(REQUEST, trace_of(), {}), connections=[first])
    terminal, page = rendered(document)
    assert re.search(r"connection 2 +2 +70", terminal), terminal
    assert "connection 2" in page


def test_interference_is_ranked_by_its_share_of_the_variance():
    document = document_of(REQUEST, {**trace_of(), "who": interference_document()}, {})
    first, *others = document.who.parts
    assert (first.cause, first.who) == ("run_queue", None)
    # Interrupts correlate with the waits at a quarter of their length; their covariance belongs to both.
    assert first.share_of_variance.value == pytest.approx(0.8)
    assert others[0].share_of_variance.value == pytest.approx(0.2)
    assert first.mean_us.value < others[0].mean_us.value
    assert first.sd_without_us == pytest.approx(others[0].sd_without_us / 4, rel=1e-3)
    (culprit,) = document.who.culprits
    assert culprit.who.name == "mc-lrumaint"
    jsonschema.validate(to_document(document), schemas()["trace"])
    culprits, parts = tables(document, "terminal", "What delayed requests")
    ((what, _, share),) = culprits
    for text in ("mc-lrumaint", CAUSES["run_queue"], STAGE_NAMES["tcp_to_read"]):
        assert text in what
    assert share == parts[0][2] == "80\u202f%"


def codes(document: Trace) -> list[str]:
    result = [note.code for note in document.notes]
    assert CODES.keys() >= set(result)
    return result


REQUEST = TraceRequest(Server("memcached", os.getpid(), 11211, "memcached"), 4.0)


def test_a_server_that_ends_during_the_trace_is_reported():
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        gone = TraceRequest(Server("memcached", ended.pid, 11211, "memcached"), 4.0)
        (note,) = document_of(gone, trace_of(), {}).notes
    assert (note.code, note.values) == ("server-ended", {"name": "memcached", "pid": ended.pid})
    alive = TraceRequest(Server("memcached", os.getpid(), 11211, "memcached"), 4.0)
    assert document_of(alive, trace_of(), {}).notes == []


def test_a_trace_reports_its_overhead():
    used = {9: 16_000 * 12_000}  # 12 us of processor time by request
    cheap = {**trace_of(), "cost": {**trace_of()["cost"], "probes_ns": 500_000}}
    assert document_of(REQUEST, cheap, {}, used).notes == []
    (note,) = document_of(REQUEST, trace_of(), {}, used).notes
    assert note.code == "probe-overhead"
    assert note.values == pytest.approx({"probes_us": 1.0, "request_us": 12.0, "share": 1 / 12})
    # Probes also run for other traffic, so they can cost more than the server uses.
    other = {**trace_of(), "cost": {**trace_of()["cost"], "probes_ns": 120 * 500_000 * 2}}
    (note,) = document_of(REQUEST, other, {}, used).notes
    assert note.values["share"] == pytest.approx(note.values["probes_us"] / 12.0)
    # In windows they run for a part of the time.
    windows = {**trace_of(), "followed_ns": 10**9}
    windows["cost"]["attached_ns"] = 11 * 10**8
    assert document_of(REQUEST, windows, {}, {9: 64_000 * 12_000}).notes == []
    # Only one request in ten is followed, but the probes ran for all.
    sampled = replace(REQUEST, one_connection_in=10)
    assert document_of(sampled, trace_of(), {}, {9: 160_000 * 12_000}).notes == []
    who = interference_document()
    who["culprits"][0] |= {"name": "hindmost-trace", "process": os.getpid(), "relation": "other"}
    document = document_of(REQUEST, {**cheap, "who": who}, {}, used)
    (note,) = document.notes
    assert (note.code, note.values["share"]) == ("trace-interference", pytest.approx(0.8))
    assert "move-program" not in [one.code for one in document.advice]


def test_a_page_names_both_sides_of_each_covariance():
    blocks = select(view(document_of(REQUEST, trace_of(), {})).blocks, "page")
    (table,) = [one.blocks[0] for one in blocks if getattr(one, "title", "").startswith("Covariances")]
    names = list(STAGE_NAMES.values())[:5]
    assert list(table.heads[1:]) == [row[0] for row in table.rows] == names
    assert [row[at + 1].heat > 0.5 for at, row in enumerate(table.rows)] == [False, True, False, False, False]


def test_a_function_that_some_requests_skip_is_reported():
    asked = replace(REQUEST, begun=Function(Path("/usr/bin/memcached"), "go"))
    document = document_of(asked, trace_of(not_begun=80, astray=80), {})
    assert document.begun == StartProbe(file="/usr/bin/memcached", function="go", share=0.995, astray=0.005)
    assert "wrong-begin-function" not in codes(document)
    for text in rendered(document):
        assert "99.50\u202f%" in text
    for counts, missed, astray in (({"not_begun": 800}, 0.05, 0.0), ({"astray": 32_000}, 0.0, 2.0)):
        (note,) = document_of(asked, trace_of(**counts), {}).notes
        assert note.code == "wrong-begin-function"
        assert note.values.pop("function") == "go"
        assert note.values == pytest.approx({"missed": missed, "astray": astray})


def test_interference_on_the_servers_cpus_is_reported():
    before, after = CpuCounters((0, 1), 100, 1_000), CpuCounters((0, 1), 102, 1_800)
    isolated = document_of(REQUEST, trace_of(), {}, None, (before, after))
    assert to_document(isolated.taken) == {
        "cpus": "0-1",
        "hypervisor_share": 0.0025,
        "other_programs": None,
        "isolated": True,
    }
    assert all("0.25\u202f%" in text for text in rendered(isolated))
    assert view(isolated).tone == "valid"
    stolen = document_of(REQUEST, trace_of(), {}, None, (before, replace(after, stolen=110)))
    (note,) = stolen.notes
    values = {"cpus": "0-1", "hypervisor_share": 0.0125, "other_programs_share": None}
    assert (note.code, note.values) == ("host-interference", values)
    assert view(stolen).tone == "inconclusive"
    moved = document_of(REQUEST, trace_of(), {}, None, (before, replace(after, cpus=(0,))))
    assert moved.taken.hypervisor_share is None
    who = interference_document()
    who["culprits"][0] |= {"name": "backup", "relation": "other", "process": 1}
    beside = document_of(REQUEST, {**trace_of(), "who": who}, {}, None, (before, after))
    others = beside.taken.other_programs
    assert others.share_of_variance == beside.who.culprits[0].share_of_variance.value > 0.5
    assert not beside.taken.isolated
    assert beside.notes[0].values["other_programs_share"] == others.share_of_variance
    who["culprits"][0]["process"] = os.getpid()
    own = document_of(REQUEST, {**trace_of(), "who": who}, {}, None, (before, after))
    assert own.taken.isolated, "the trace has its own note"


def test_a_sample_of_requests_gives_the_processor_time_per_request():
    used = {9: 16_000 * 12_000}
    all_of_them = document_of(REQUEST, trace_of(), {}, used).service
    assert (all_of_them.mean_us, all_of_them.rate_per_s) == pytest.approx((12.0, 4000.0))
    # A quarter of the requests is traced: a quarter of the time, or of the connections.
    some = {9: 4 * 16_000 * 12_000}
    windows = document_of(REQUEST, {**trace_of(), "followed_ns": 10**9}, {}, some)
    connections = document_of(replace(REQUEST, one_connection_in=4), trace_of(), {}, some)
    for document in (windows, connections):
        service = document.service
        assert (service.mean_us, service.rate_per_s) == pytest.approx((12.0, 16_000.0))


def look(probes_us: float, *, rate: float = 50_000, latency_us: float = 30) -> Trace:
    """Return a trace of all requests of a server that uses 12 us of CPU time for each."""
    document = document_of(REQUEST, trace_of(), {}, {9: 16_000 * 12_000})
    latency = structs.replace(
        document.all.latency,
        mean_us=Figure(value=latency_us, low=None, high=None),
        variance_us2=Figure(value=latency_us**2, low=None, high=None),
    )
    return structs.replace(
        document,
        all=structs.replace(document.all, latency=latency),
        counts=structs.replace(document.counts, done=int(rate * document.followed_s)),
        cost=structs.replace(document.cost, probes_ns=int(probes_us * 1e6)),
    )


def test_the_share_of_windows_follows_from_the_cost():
    for duration_s, most in ((20.0, 0.02), (60.0, 0.01), (3600.0, 0.01)):
        chosen = [choose_windows(look(probes_us), duration_s) for probes_us in (0.02, 0.3, 0.6, 1.2)]
        assert [one_in for one_in, _ in chosen] == sorted({one_in for one_in, _ in chosen})
        assert chosen[0][0] == 1
        for _, cost in chosen:
            assert cost is not None
            assert 0 < cost <= most


def test_a_short_trace_and_few_or_slow_requests_have_fewer_windows():
    usual, _ = choose_windows(look(1.0), 20.0)
    assert usual > 4
    for seen, duration_s in ((look(1.0), 3.0), (look(1.0, rate=1000), 20.0)):
        one_in, cost = choose_windows(seen, duration_s)
        assert 1 < one_in < usual
        assert cost > 0.02
    assert most_windows(0.5) == 1
    for seen in (look(1.0, rate=100), look(1.0, latency_us=1e6)):
        assert choose_windows(seen, 20.0)[0] == 1
    unknown = structs.replace(look(1.0), service=None)
    assert choose_windows(unknown, 20.0) == (1, None)


def test_the_document_names_the_traced_part_of_the_time():
    assert document_of(REQUEST, trace_of(), {}).windows == Windows(one_in=1, window_s=0.1, expected_cost=None)
    chosen = replace(REQUEST, duration_s=40.0, one_window_in=8, expected_cost=0.019)
    document = document_of(chosen, trace_of(), {})
    assert document.windows == Windows(one_in=8, window_s=0.05, expected_cost=0.019)
    for text in rendered(document):
        assert "1.9\u202f%" in text
    jsonschema.validate(to_document(document), schemas()["trace"])


def test_requests_that_outlive_their_window_are_reported():
    windows = replace(REQUEST, one_window_in=4)
    (note,) = document_of(windows, trace_of(seen=16010), {}).notes
    assert (note.code, note.values["requests"]) == ("cut-requests", 10)
    assert document_of(windows, trace_of(seen=16001), {}).notes == []
    assert document_of(REQUEST, trace_of(seen=16010), {}).notes == []


def test_a_document_separates_variance_from_mean():
    document = document_of(REQUEST, trace_of(), {})
    assert (document.critical.by_variance, document.critical.by_mean) == ("tcp_to_read", "start_to_response")
    assert [stage.stage for stage in document.all.stages] == list(STAGES)
    shares = [stage.share_of_variance.value for stage in document.all.stages]
    assert sum(shares) == pytest.approx(1)
    assert document.all.closure < 1e-9
    assert set(document.kinds) == {"get", "set"}
    # Gets and sets are 6 us apart, and vary by 5 us each.
    assert document.between_kinds == pytest.approx(9 / (9 + 25), rel=0.1)
    assert document.matched == 1
    assert document.unmatched == document.notes == []
    assert json.loads(encode(document)) == to_document(document)


def test_untraced_requests_are_listed_by_cause():
    lost = trace_of(seen=16100, ambiguous=64, closed=16)
    document = document_of(REQUEST, lost, {})
    result = {one.cause: one.requests for one in document.unmatched}
    assert result == {"ambiguous": 64, "closed": 16, "open": 20}
    jsonschema.validate(to_document(document), schemas()["trace"])
    assert document.matched == 16000 / 16080  # requests in flight are not lost
    (note,) = document.notes
    assert (note.code, note.values["share"]) == ("unmatched-requests", pytest.approx(80 / 16080))
    terminal = " ".join(rendered(document)[0].split())
    for one in document.unmatched:
        assert f"{one.requests} requests" in terminal
        assert one.why in terminal


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
    (note,) = document_of(REQUEST, trace_of(**counts), {}).notes
    assert (note.code, note.values["count"]) == (code, *counts.values())


def test_a_document_of_an_earlier_version_is_read_and_shown(tmp_path):
    current = document_of(REQUEST, {**trace_of(), "who": interference_document()}, {}, {9: 2 * 10**9})
    older = to_document(current) | {"schema": "hindmost.trace/1", "notes": ["a sentence"]}
    del older["counts"]["datagrams"], older["service"]["occupied_us"]
    for one in older["advice"]:
        del one["code"], one["also"]
    (tmp_path / "older.json").write_text(json.dumps(older))
    document = read_trace(tmp_path / "older.json")
    assert (document.schema, document.all) == (current.schema, current.all)
    assert [one.levels for one in document.advice] == [one.levels for one in current.advice]
    assert all("a sentence" in text for text in rendered(document))
    (tmp_path / "other.json").write_text(json.dumps(older | {"schema": "hindmost.measure/2"}))
    with pytest.raises(ValueError, match="schema"):
        read_trace(tmp_path / "other.json")


def test_the_screen_names_the_critical_stage_and_the_longest():
    document = document_of(REQUEST, trace_of(), {})
    headline = view(document).headline
    assert headline.index(STAGE_NAMES["tcp_to_read"]) < headline.index(STAGE_NAMES["start_to_response"])
    terminal = render_terminal(view(document), width=80, color=False)
    for value in ("memcached", "11211", "16,000", "4.00 s", "4000/s", "100\u202f%", headline.split()[0]):
        assert value in terminal
    (stages,) = tables(document, "terminal", "The path of a request")
    assert [row[0] for row in stages] == list(STAGE_NAMES.values())
    for row in stages:
        (line,) = [line for line in terminal.splitlines() if line.startswith(row[0])]
        assert all(cell in line for cell in row), "no figure is cut off"


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
    (first, *_) = advise(structs.replace(document, service=None), inbound)
    assert (first.knob, first.levels) == ('knob = "rps@lo"', ["0", inbound.elsewhere])


def test_advice_follows_the_cause_of_the_variance_with_its_gain():
    document = document_of(
        REQUEST, {**trace_of(), "who": interference_document()}, {}, {9: 2 * 10**9, 10: 10}
    )
    assert document.service.workers == 1
    assert document.service.mean_us == pytest.approx(125)
    first, *others = document.advice
    assert (first.knob, first.levels) == ('argument = "-o no_lru_maintainer"', ["off", "on"])
    (now, then), waited = first.predicted.mean_us, document.who.culprits[0].mean_us.value
    assert now - then == pytest.approx(waited)
    assert first.predicted.sd_us[1] == document.who.culprits[0].sd_without_us
    assert not [other for other in others if other.stage == "tcp_to_read"]
    terminal, _ = rendered(document)
    rate = document.service.rate_per_s
    (line,) = [line for line in terminal.splitlines() if 'no_lru_maintainer" =' in line]
    words = shlex.split(line[line.index("hindmost compare") :])
    assert words[:4] == ["hindmost", "compare", "memcached", "--rate"]
    assert float(words[4]) == pytest.approx(rate, rel=0.05)
    assert words[5:] == ["--set", 'argument = "-o no_lru_maintainer" = off,on']
    other = replace(REQUEST, server=replace(REQUEST.server, name="ours"))
    unknown = document_of(other, {**trace_of(), "who": interference_document()}, {}).advice
    assert unknown[0].knob == 'schedule = "mc-lrumaint"'
    assert unknown[0].trial.startswith("hindmost compare TARGET --rate RATE --set 'schedule")
    assert document_of(REQUEST, trace_of(), {}).advice[0].code == "trace-threads"


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


def with_means(document: Trace, mean_us: Sequence[float]) -> Trace:
    """Return the trace with other means of its stages."""
    means = [Figure(value=one, low=None, high=None) for one in mean_us]
    pairs = zip(document.all.stages, means, strict=True)
    stages = [structs.replace(stage, mean_us=mean) for stage, mean in pairs]
    return structs.replace(document, all=structs.replace(document.all, stages=stages))


SERVICE = Service(workers=1, rate_per_s=4000.0, mean_us=12.0, variance_us2=9.0, occupied_us=2000.0, c2=0.0)


def advice_codes(
    who: dict | None, service: Service | None = None, mean_us: Sequence[float] = ()
) -> list[str]:
    """Return the codes of the advice if the culprit has most of the variance."""
    document = document_of(REQUEST, {**trace_of(), "who": who}, {})
    document = with_means(document, mean_us) if mean_us else document
    return [one.code for one in advise(structs.replace(document, service=service))]


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
    assert "profile-server" not in advice_codes(None, SERVICE, asleep)
    assert "trace-threads" in advice_codes(None, SERVICE, asleep)
    assert "trace-threads" not in advice_codes({**interference_document(), "culprits": []})


def test_delayed_acknowledgements_and_page_faults_are_reported():
    assert "no-delay" not in advice_codes(None)
    held_back = with_means(document_of(REQUEST, trace_of(), {}), (1.0, 1.0, 1.0, 20.0, 40_000.0))
    most = Figure(value=0.9, low=None, high=None)
    held_back.all.stages[4] = structs.replace(held_back.all.stages[4], share_of_variance=most)
    assert advise(held_back)[0].code == "no-delay"
    faulting = interference_document()
    faulting["threads"][0]["page_faults"] = 20_000 * 400
    assert "fewer-faults" in advice_codes(faulting)


def test_variance_and_mean_of_service_cover_the_same_time():
    service = document_of(REQUEST, trace_of(), {}, {9: 16_000 * 12_000}).service
    stages = document_of(REQUEST, trace_of(), {}).all.stages[3:]
    assert service.occupied_us == pytest.approx(sum(stage.mean_us.value for stage in stages))
    assert service.c2 == pytest.approx(service.variance_us2 / service.occupied_us**2)


def test_advice_for_the_same_trial_is_merged():
    who = interference_document()
    (maintainer,) = who["culprits"]
    backup, indexer = ({**maintainer, "name": name, "relation": "other"} for name in ("backup", "indexer"))
    who["culprits"] = [backup, indexer, maintainer]
    document = document_of(REQUEST, {**trace_of(), "who": who}, {})
    assert [one.knob for one in document.advice][:2] == [
        "schedule = true",
        'argument = "-o no_lru_maintainer"',
    ]
    first = document.advice[0]
    assert (first.who.name, first.also) == ("backup", ("indexer",))
    assert "indexer" in first.why


def test_unattributed_time_is_shown_with_its_reasons():
    who = interference_document()
    (maintainer,) = who["culprits"]
    unseen = {**maintainer, "name": "unknown", "process": 0, "relation": "unknown", "requests": 3}
    who["culprits"] = [{**unseen, "cause": "unseen"}, unseen, maintainer]
    document = document_of(REQUEST, {**trace_of(), "who": who}, {})
    jsonschema.validate(to_document(document), schemas()["trace"])
    assert [culprit.who.name for culprit in document.who.culprits] == ["mc-lrumaint"]
    assert [one.cause for one in document.who.unknown] == ["unseen", "run_queue"]
    terminal, page = rendered(document)
    terminal = " ".join(terminal.split())
    for one in document.who.unknown:
        assert one.why in terminal
        assert one.why in page
    assert terminal.count("in 3 of 20") == 2, terminal


def test_the_page_shows_path_causes_slowest_requests_and_an_earlier_trace():
    document = document_of(REQUEST, {**trace_of(), "who": interference_document()}, {})
    _, page = rendered(document)
    assert page.count("<svg") == 6  # mean, variance, slowest: each for wide screens and for narrow ones
    assert page.count("mc-lrumaint (the server&#39;s own)") >= 1
    (slowest, *_), *_ = tables(document, "page", "The slowest 1\u202f%")
    assert slowest[1:] == ["400", "94.1\u202f%"]
    means = [stage.mean_us.value for stage in document.all.stages]
    faster = with_means(document, [mean / 2 for mean in means])
    (rows,) = tables(faster, "page", "Before and after", before=document)
    assert [row[3] for row in rows[:2]] == ["0.50", "0.50"]
    assert "Before and after" not in page


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
        ({"one_window_in": 11}, "--duration"),
    ):
        with raises(UsageError, "bad-value", option=option):
            TraceRequest(REQUEST.server, **wrong).check()


def test_times_need_every_request(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as one:
        command = [
            "trace",
            f"http://127.0.0.1:{one.getsockname()[1]}",
            "--times",
            str(tmp_path / "times.csv"),
        ]
        for name in ("--every", "--windows"):
            refused = [*command, name, "4"]
            assert_refused(refused, capsys, 2, "conflicting-options", options=["--times", name])


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
    assert document_of(REQUEST, trace_of(), {}, used).service is not None
    assert document_of(REQUEST, coarse, {}, used).service is None


def profile_document(samples: int) -> dict:
    """Return a profile in which slow requests execute `slow` three quarters of the time, and others seldom."""

    def function(name: str, of_slowest: float, of_all: float) -> dict:
        shares = {"of_all": of_all, "of_slowest": of_slowest, "of_variance": of_slowest / 2}
        return {"function": name, "module": "server", **shares} | {
            "all_us": 20 * of_all,
            "slowest_us": 800 * of_slowest,
        }

    return {
        **{"period_us": 1000.0, "lost": 0, "of_variance": 0.5},
        "all": {"requests": 16000, "samples": 10 * samples, "time_us": 20.0},
        "slowest": {"requests": 160, "samples": samples, "time_us": 800.0},
        "functions": [
            function("slow", 0.75, 0.25),
            function("server+0x40", 0.25, 0.5),
            function("idle", 0.0, 0.25),
        ],
        "stacks": [
            {"frames": ["main", "slow"], "all_us": 5.0, "slowest_us": 600.0},
            {"frames": ["main", "server+0x40"], "all_us": 10.0, "slowest_us": 200.0},
            {"frames": ["main", "idle"], "all_us": 5.0, "slowest_us": 0.0},
        ],
    }


def profile_table(document: Trace, where: str, name: str = "profile") -> Table:
    (section,) = [one for one in view(document).blocks if isinstance(one, Section) and one.id == name]
    (table,) = [one for one in select(section.blocks, where) if isinstance(one, Table)]
    return table


def test_the_functions_of_slow_requests_are_named_and_shown():
    document = document_of(REQUEST, {**trace_of(), "profile": profile_document(40)}, {})
    assert [one.function for one in top_functions(document.profile, 3)] == ["slow", "server+0x40"]
    assert [one.function for one in top_functions(document.profile, 1)] == ["slow"]
    rows = profile_table(document, "terminal").rows
    assert [row[0] for row in rows] == ["slow (server)", "server+0x40", "idle (server)"]
    assert len(profile_table(document, "page").rows[0]) == len(rows[0]) + 1
    assert not {"no-profile", "few-profile-samples"} & {note.code for note in document.notes}
    jsonschema.validate(json.loads(encode(document)), schemas()["trace"])


def test_waits_of_slow_requests_are_shown_with_their_system_call():
    waits = {**profile_document(40), "period_us": None}
    waits["functions"][0]["call"] = "futex"
    document = document_of(REQUEST, {**trace_of(), "waits": waits}, {})
    rows = profile_table(document, "terminal", "waits").rows
    assert [row[0] for row in rows] == ["slow (server): futex", "server+0x40", "idle (server)"]
    jsonschema.validate(json.loads(encode(document)), schemas()["trace"])


def test_the_flame_graph_shows_each_stack_once_and_its_difference():
    document = document_of(REQUEST, {**trace_of(), "profile": profile_document(40)}, {})
    drawn = draw_flame(document.profile, "", 800.0)
    classes = re.findall(r'<rect [^>]*class="(\w+)"', drawn)
    assert classes == ["alike", "alike", "less3", "more3"], "all, main, and two functions by name"
    widths = [float(one) for one in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
    assert widths[3] == pytest.approx(0.75 * widths[0], abs=1.0)
    assert "idle" not in drawn
    assert draw_flame(structs.replace(document.profile, stacks=[]), "", 800.0) is None


@each_row(
    ("traced", "code"),
    [
        ({"profile": profile_document(29)}, "few-profile-samples"),
        ({"profile_fault": "Operation not permitted"}, "no-profile"),
    ],
)
def test_a_missing_or_thin_profile_has_a_note(traced, code):
    document = document_of(REQUEST, {**trace_of(), **traced}, {})
    assert [note.code for note in document.notes if "profile" in note.code] == [code]
    assert code in CODES
    assert top_functions(document.profile, 3) == []


def test_the_advice_names_functions_instead_of_a_profiler():
    document = document_of(REQUEST, {**trace_of(), "profile": profile_document(40)}, {})
    (advice,) = [one for one in document.advice if one.code == "profile-server"]
    assert "slow (server), server+0x40" in advice.change
