"""Harvesting: formats of traces, classes as a document, decisions, and invalid input."""

import json
import math
import re
import subprocess
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from harvest_documents import classes_of, tenant_of
from messages import assert_refused, raises
from rows import each_row

from hindmost.cli import main
from hindmost.commands.harvest.classes import Settings, classify, load_classes
from hindmost.commands.harvest.decisions import first_full, learn_thresholds, place, select
from hindmost.commands.harvest.document import Classes, Share
from hindmost.commands.harvest.hadoop import tenants_text, topology_text, yarn_texts
from hindmost.commands.harvest.hosts import HostTable
from hindmost.commands.harvest.reading import read_traces
from hindmost.commands.harvest.simulation import simulate
from hindmost.core.store.estimates import encode, to_document
from hindmost.errors import UsageError

DAYS, SLOT = 10, 1800
MOMENTS = np.arange(DAYS * 86_400 // SLOT) * SLOT


def daily(phase: float = 0.0) -> np.ndarray:
    return 0.4 + 0.2 * np.sin(2 * np.pi * MOMENTS / 86_400 + phase)


def write_columns(path, servers: dict[str, np.ndarray], name: str = "cpu") -> None:
    rows = [f"time,server,{name}"]
    rows += [
        f"{at},{server},{'' if math.isnan(load) else f'{load:.4f}'}"
        for server, loads in servers.items()
        for at, load in zip(MOMENTS, loads, strict=False)
    ]
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture
def folder(tmp_path):
    """Four tenants of two servers: daily, daily, constant, noise. One server of each pair is above average."""
    random = np.random.default_rng(1)
    kinds = {
        "web": daily(),
        "ads": daily(1.0),
        "crawl": np.full(len(MOMENTS), 0.3),
        "test": random.uniform(0, 1, len(MOMENTS)),
    }
    servers = {f"{name}-{k}": loads + (0.05, -0.05)[k] for name, loads in kinds.items() for k in range(2)}
    write_columns(tmp_path / "traces.csv", {name: loads.clip(0, 1) for name, loads in servers.items()})
    rows = [f"{name},{name[:-2]},env-{name[0]},r{name[-1]},{len(name) / 4},10" for name in servers]
    (tmp_path / "tenants.csv").write_text(
        "\n".join(["server,tenant,environment,rack,reimages,space", *rows]) + "\n"
    )
    return tmp_path


@pytest.fixture
def classes(folder):
    return classify(read_traces(folder))


def test_servers_are_averaged_by_tenant(folder):
    traces = read_traces(folder)
    assert traces.slot_s == SLOT
    assert [(one.name, len(one.servers), one.space) for one in traces.tenants][:2] == [
        ("web", 2, 20.0),
        ("ads", 2, 20.0),
    ]
    assert np.allclose(traces.cpu[0], daily(), atol=1e-4)


def test_classes_have_pattern_period_shares_and_stability(classes):
    found = {one.name: one for one in classes.tenants}
    patterns = [found[name].pattern for name in ("web", "crawl", "test")]
    assert patterns == ["periodic", "constant", "unpredictable"]
    assert found["web"].period_s == pytest.approx(86_400)
    assert classes.shares["periodic"] == Share(tenants=0.5, servers=0.5, stable=1.0)


def test_the_document_names_the_columns_that_were_read(classes, tmp_path):
    columns = {"format": "columns", "files": 1, "time": "time", "server": "server", "load": "cpu"}
    assert to_document(classes)["columns"] == [columns | {"unit": "share"}]
    (tmp_path / "azure").mkdir()
    (tmp_path / "azure" / "r.csv").write_text("0,a,0,0,20\n300,a,0,0,20\n")
    (azure,) = read_traces(tmp_path / "azure").columns
    assert (azure.format, azure.time, azure.server, azure.load, azure.unit) == (
        *("azure", "1", "2", "5", "percent"),
    )


def test_servers_with_opposite_load_are_constant_with_their_own_peak(tmp_path):
    day = MOMENTS % 86_400 < 43_200
    servers = {"a-0": np.where(day, 0.7, 0.18), "a-1": np.where(day, 0.18, 0.7)}
    write_columns(tmp_path / "t.csv", servers)
    (tmp_path / "tenants.csv").write_text("server,tenant\na-0,a\na-1,a\n")
    found = classify(read_traces(tmp_path))
    assert [(one.pattern, one.peak) for one in found.tenants] == [("constant", pytest.approx(0.7))]
    assert found.classes[0].peak == pytest.approx(0.7)


def test_a_server_with_a_wrong_clock_is_reported_and_left_out(tmp_path):
    write_columns(tmp_path / "t.csv", {"a": daily(), "b": daily(1.0)})
    lines = (tmp_path / "t.csv").read_text().splitlines()
    today = [lines[0]] + [
        f"{int(row.partition(',')[0]) + 1_700_000_000},{row.partition(',')[2]}" for row in lines[1:]
    ]
    off = [f"{at},clock,0.3" for at in MOMENTS]
    (tmp_path / "t.csv").write_text("\n".join([*today, *off]) + "\n")
    found = classify(read_traces(tmp_path))
    assert found.other_clocks == ["clock"]
    assert {one.name: one.pattern for one in found.tenants} == {"a": "periodic", "b": "periodic"}
    assert found.slots == len(MOMENTS)


def test_without_a_complete_trace_no_classes_are_written(tmp_path, capsys):
    gaps = np.where(MOMENTS % 7200 < 1800, 0.3, np.nan)
    write_columns(tmp_path / "t.csv", {"a": gaps})
    out = tmp_path / "classes.json"
    words = ["harvest", "classify", str(tmp_path), "--slot", "30m", "--out", str(out)]
    assert_refused(words, capsys, 4, "no-whole-trace", tenants=1)
    assert not out.exists()


def test_a_pattern_in_half_of_the_time_is_unpredictable(tmp_path):
    late = np.where(MOMENTS < DAYS * 43_200, 0.4, daily() * 1.2)
    write_columns(tmp_path / "t.csv", {"late": late, "always": daily()})
    found = {one.name: one for one in classify(read_traces(tmp_path)).tenants}
    assert (found["late"].pattern, found["late"].stable) == ("unpredictable", False)
    assert (found["always"].pattern, found["always"].stable) == ("periodic", True)
    assert found["always"].confidence > 0.99


def assert_format(tmp_path, name: str, text: str, servers: list[str], first: float) -> None:
    (tmp_path / name).write_text(text)
    traces = read_traces(tmp_path)
    assert [one.name for one in traces.tenants] == servers
    assert traces.cpu[0, 0] == pytest.approx(first)


@pytest.mark.parametrize(
    ("name", "text", "servers", "first"),
    [
        ("azure.csv", "0,vm/a=,1.0,9.0,25.5\n300,vm/a=,1,2,3.0\n0,b,1,2,3\n", ["vm/a=", "b"], 0.255),
        (
            "1.csv",
            "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%]\n"
            "1376314846;\t4;\t11704;\t10912;\t93.2\n1376315146;\t4;\t11704;\t10890;\t93.0\n",
            ["1"],
            0.932,
        ),
        ("any.csv", "timestamp,vm,cpu_percent\n0,x,50\n60,x,NA\n", ["x"], 0.5),
        ("marked.csv", "\ufefftime,server,cpu\n0,x,0.5\n60,x,0.5\n", ["x"], 0.5),
        ("server_usage.csv", "39600,1,20.5,50.1,90.0,3,3,3\n39900,1,20,50,90,3,3,3\n", ["1"], 0.205),
        ("machine_usage.csv", "m_1,0,7,87,,,43,33,8\nm_1,10,8,87,,,43,33,8\n", ["m_1"], 0.07),
    ],
)
def test_formats_are_recognised_by_their_first_line(tmp_path, name, text, servers, first):
    assert_format(tmp_path, name, text, servers, first)


def test_a_format_can_be_given(tmp_path):
    (tmp_path / "a.csv").write_text("0,17,1,2,3\n300,17,1,2,3\n")
    with raises(UsageError, "bad-file", line=1):
        read_traces(tmp_path)
    assert read_traces(tmp_path, format_="azure").cpu[0, 0] == pytest.approx(0.03)
    with raises(UsageError, "unknown-name", name="azur"):
        read_traces(tmp_path, format_="azur")


def test_google_tasks_are_not_taken_for_servers(tmp_path):
    (tmp_path / "part-00000-of-00500.csv").write_text(
        ",".join(["600000000", "900000000", *["1"] * 18]) + "\n"
    )
    with raises(UsageError, "unsupported", line=1):
        read_traces(tmp_path)


def test_readings_between_slot_borders_have_one_slot_each(tmp_path):
    jitter = np.random.default_rng(1).integers(-2, 3, 50)
    rows = [f"{k * 300},a,0.2\n{k * 300 + 150 + late},b,0.4" for k, late in enumerate(jitter)]
    (tmp_path / "a.csv").write_text("\n".join(["time,server,cpu", *rows]) + "\n")
    traces = read_traces(tmp_path)
    assert traces.cpu.shape == (2, 50)
    assert np.isfinite(traces.cpu).all()


def test_a_stray_time_is_refused_by_its_line_and_server(tmp_path):
    rows = [f"{k * 300},vm{server},1,2,30" for k in range(20) for server in range(10)]
    rows.insert(7, "-618364800,vm1,1,2,30")
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n")
    with raises(UsageError, "bad-file", line=8, key="time", value=-618364800.0, name="vm1"):
        read_traces(tmp_path)


def test_latin_1_is_read_in_tenants_and_in_traces(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"time,server,cpu\n0,h\xf6,0.2\n300,h\xf6,0.2\n")
    (tmp_path / "tenants.csv").write_bytes("\ufeffserver,tenant\n".encode() + b"h\xf6,K\xf6ln\n")
    assert [one.name for one in read_traces(tmp_path).tenants] == ["K\xf6ln"]


@pytest.mark.parametrize("compression", ["uncompressed", "snappy"])
@pytest.mark.parametrize("real", ["Float64", "Float32"])
def test_parquet_is_read_like_csv_traces(folder, compression, real):
    polars = pytest.importorskip("polars")
    from_csv = read_traces(folder)
    table = polars.read_csv(folder / "traces.csv").with_columns(polars.col("cpu").cast(getattr(polars, real)))
    (folder / "traces.csv").unlink()
    table.write_parquet(folder / "traces.parquet", compression=compression)
    found = read_traces(folder)
    assert {one.name: sorted(one.servers) for one in found.tenants} == {
        one.name: sorted(one.servers) for one in from_csv.tenants
    }
    row = [one.name for one in found.tenants].index
    same = found.cpu[[row(one.name) for one in from_csv.tenants]]
    assert np.allclose(same, from_csv.cpu, atol=1e-6, equal_nan=True)
    assert found.slot_s == from_csv.slot_s


def test_unusable_parquet_is_refused_with_its_path(folder):
    polars = pytest.importorskip("polars")
    path = folder / "traces.parquet"
    polars.DataFrame({"time": [0.0, 1.0], "server": ["a", "a"], "load1": [0.1, 0.2]}).write_parquet(path)
    with raises(UsageError, "bad-file", path=str(path), key="load", value=["time", "server", "load1"]):
        read_traces(folder)
    path.write_bytes(path.read_bytes()[:-20])
    with raises(UsageError, "bad-file", path=str(path)):
        read_traces(folder)
    polars.DataFrame({"time": [0.0], "server": ["a"], "cpu": [0.1]}).write_parquet(path, compression="zstd")
    with raises(UsageError, "unsupported", path=str(path), value="zstd", known=["snappy", "uncompressed"]):
        read_traces(folder)


def test_azure_deployments_are_tenants(tmp_path):
    (tmp_path / "readings.csv").write_text("0,a,0,0,20\n300,a,0,0,20\n0,b,0,0,40\n300,b,0,0,40\n0,c,0,0,1\n")
    (tmp_path / "vmtable.csv").write_text("a,sub,dep,0,0\nb,sub,dep,0,0\n")
    traces = read_traces(tmp_path)
    assert [(one.name, one.environment, one.servers) for one in traces.tenants] == [
        ("dep", "sub", ["a", "b"])
    ]
    assert traces.cpu[0, 0] == pytest.approx(0.3)
    assert traces.unowned == 1


def test_short_traces_gaps_and_torn_lines_are_missing_values(tmp_path):
    gaps = daily()
    gaps[50:60] = np.nan
    write_columns(tmp_path / "a.csv", {"whole": daily(), "gaps": gaps, "late": daily()[:400]})
    with (tmp_path / "a.csv").open("a") as file:
        file.write("864000,wh")
    found = classify(read_traces(tmp_path))
    by = {one.name: one for one in found.tenants}
    assert by["whole"].pattern == by["gaps"].pattern == by["late"].pattern == "periodic"
    assert by["gaps"].missing == pytest.approx(10 / 480)
    write_columns(tmp_path / "b.csv", {"short": daily()[:50]})
    found = classify(read_traces(tmp_path))
    assert found.left_out == ["short"]
    assert sum(share.tenants for share in found.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("shift", [0.4 * SLOT, -7.3 * SLOT])
def test_a_shifted_clock_does_not_hide_a_pattern(tmp_path, shift):
    rows = [f"{at},right,{load:.4f}" for at, load in zip(MOMENTS, daily(), strict=True)]
    # The clock is set in the middle: readings of some slots are averaged, and some slots are missing.
    rows += [
        f"{at + (shift if number > 240 else 0):.0f},shifted,{load:.4f}"
        for number, (at, load) in enumerate(zip(MOMENTS, daily(), strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join(["time,server,cpu", *rows]) + "\n")
    traces = read_traces(tmp_path)
    assert traces.cpu.shape == (2, len(MOMENTS))
    found = {one.name: one for one in classify(traces).tenants}
    assert found["right"].missing == 0
    assert found["shifted"].missing < 10 / len(MOMENTS)
    assert found["shifted"].pattern == "periodic"
    assert found["shifted"].mean == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("wrong", ["nan", "NaN", "inf", "-inf", "-0.5", ""])
def test_an_invalid_load_is_a_missing_value(tmp_path, wrong):
    rows = [
        f"{at},a,{wrong if number % 10 == 3 else f'{load:.4f}'}"
        for number, (at, load) in enumerate(zip(MOMENTS, daily(), strict=True))
    ]
    (tmp_path / "a.csv").write_text("\n".join(["time,server,cpu", *rows]) + "\n")
    (found,) = classify(read_traces(tmp_path)).tenants
    assert found.missing == pytest.approx(0.1)
    assert found.pattern == "periodic"
    assert found.mean == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize("tenants", [1, 2, 4])
def test_few_tenants_get_blocks_as_far_apart_as_possible(tmp_path, tenants):
    write_columns(tmp_path / "a.csv", {f"s{at}-{k}": daily(at) for at in range(tenants) for k in range(3)})
    rows = [f"s{at}-{k},t{at}" for at in range(tenants) for k in range(3)]
    (tmp_path / "tenants.csv").write_text("\n".join(["server,tenant", *rows]) + "\n")
    blocks = place(classify(read_traces(tmp_path)), 100)
    for one in blocks:
        assert len(set(one.servers)) == 3
        assert len({server.split("-")[0] for server in one.servers}) == min(3, tenants)
        assert (one.level > 2) == (tenants < 3)


@pytest.mark.parametrize(
    ("files", "code", "wrong", "fields"),
    [
        ({}, "no-such-file", "", {}),
        ({"a.csv": "what,is,this\n1,2,3\n"}, "bad-file", "a.csv", {"line": 1, "value": "what,is,this"}),
        ({"a.csv": "time,server,cpu\n"}, "few-readings", "a.csv", {"have": 0}),
        ({"a.csv": "time,server,load\n0,a,1\n"}, "bad-file", "a.csv", {"key": "load"}),
        ({"a.csv": "time,server,cpu\n0,a,1\n"}, "few-readings", None, {"have": 1, "need": 2}),
        (
            {"a.csv": "time,server,cpu\n0,a,1\nsoon,a,1\n"},
            "bad-file",
            "a.csv",
            {"key": "time", "line": 3, "value": "soon"},
        ),
        (
            {"a.csv": "time,server,cpu\n0,a,1\n1,a,1\n", "tenants.csv": "server,tenant\nb,t\n"},
            "no-owner",
            "tenants.csv",
            {"have": 1},
        ),
        (
            {"a.csv": "time,server,cpu\n0,a,1\n", "tenants.csv": "server,tenant\na,t\na,u\n"},
            "bad-file",
            "tenants.csv",
            {"line": 3, "key": "tenant", "value": "u", "name": "a"},
        ),
        (
            {"a.csv": "time,server,cpu\n0,a,1\n", "tenants.csv": "server,tenant,reimages\na,t,-1\n"},
            "bad-file",
            "tenants.csv",
            {"line": 2, "key": "reimages", "value": "-1"},
        ),
        (
            {"a.csv": "time,server,cpu\n0,a,1\n1,a,1\n2,a,1\n9e12,a,1\n"},
            "too-many-slots",
            None,
            {"tenants": 1, "slot_s": 1.0},
        ),
    ],
)
def test_invalid_traces_are_refused_with_path_and_line(tmp_path, files, code, wrong, fields):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    path = None if wrong is None else str(tmp_path / wrong)
    with raises(UsageError, code, path=path, **fields):
        read_traces(tmp_path, slot_s=None)


def test_short_traces_and_odd_settings_are_refused(tmp_path):
    write_columns(tmp_path / "a.csv", {"a": daily()[:20]})
    traces = read_traces(tmp_path)
    with raises(UsageError, "harvest-short", slots=20):
        classify(traces)
    with raises(UsageError, "harvest-range") as refused:
        classify(traces, Settings(periodic_share=2.0))
    assert refused.value.fields["settings"]["periodic_share"] == 2.0


def test_choices_follow_length_and_load(classes):
    patterns = [one.pattern for one in classes.classes]
    picked = [patterns[at] for one in select(classes, "long", 2.0, jobs=300) for at in one]
    assert max(set(picked), key=picked.count) == "constant"
    busy = patterns.index("unpredictable")
    assert not any(busy in one for one in select(classes, "short", 2.0, now={busy: 1.0}, jobs=100))
    assert select(classes, "short", 1e6) == [[]]
    with raises(UsageError, "unknown-name", value=99, known=list(range(len(patterns)))):
        select(classes, "short", 1.0, now={99: 0.5})


def test_blocks_are_on_different_tenants_and_environments(classes):
    blocks = place(classes, 200, writers=["web-0"])
    owner = {server: one for one in classes.tenants for server in one.servers}
    assert all(one.servers[0] == "web-0" for one in blocks)
    assert all(len({owner[server].environment for server in one.servers}) == 3 for one in blocks)
    with raises(UsageError, "unknown-name", value="nobody"):
        place(classes, 1, writers=["nobody"])


def test_blocks_fill_no_tenant_beyond_its_space_and_are_on_two_racks(classes):
    owner = {server: one for one in classes.tenants for server in one.servers}
    blocks = place(classes, 60, block_space=1.0)  # of four tenants with 20 each
    count = Counter(owner[server].name for one in blocks for server in one.servers)
    assert count == {"web": 20, "ads": 20, "crawl": 20, "test": 20}
    assert all(len({owner[s].racks[s] for s in one.servers}) == 2 for one in blocks[:20])
    classes.tenants[0] = msgspec.structs.replace(classes.tenants[0], space=2.0)
    name, share = first_full(classes, place(classes, 3000))
    assert name == classes.tenants[0].name
    assert share < 0.25
    assert first_full(classes, []) is None


def test_thresholds_are_learnt_from_past_runs(classes):
    found = learn_thresholds(classes, [(float(s), 10.0) for s in range(1, 101)])
    assert 1 < found["short_below_s"] < found["long_above_s"] < 100
    assert learn_thresholds(classes, []) is None


def test_the_commands_lead_from_traces_to_decisions(folder, capsys):
    out = folder / "classes.json"
    assert main(["harvest", "classify", str(folder), "--out", str(out)]) == 0
    shares = {line.split()[0]: line.split()[1:4] for line in capsys.readouterr().out.splitlines() if line}
    assert shares["periodic"][::2] == ["50", "50"]
    assert load_classes(out).shares["periodic"].tenants == 0.5
    assert main(["harvest", "select", str(out), "--length", "long", "--wants", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"]
    assert main(["harvest", "select", str(out), "--wants", "1000"]) == 1
    capsys.readouterr()
    assert main(["harvest", "place", str(out), "--blocks", "50"]) == 0
    assert ["50", "3"] in [re.findall(r"\d+", line) for line in capsys.readouterr().out.splitlines()]
    out.write_text('{"schema": "hindmost.study/1"}')
    assert_refused(
        ["harvest", "place", str(out)],
        capsys,
        2,
        "bad-file",
        path=str(out),
        value="hindmost.study/1",
        need="hindmost.classes/1",
    )


def test_the_hadoop_configuration_is_complete(folder, classes, capsys):
    (folder / "classes.json").write_text(encode(classes))
    command = ["harvest", "export", "hadoop", str(folder / "classes.json"), "--out", str(folder / "conf")]
    assert main([*command, "--name-nodes", "nn1,nn2"]) == 0
    written = [Path(line) for line in capsys.readouterr().out.split()]
    head, _, end = written[0].read_text().rpartition("end\t")
    assert int(end, 16) == zlib.crc32(head.encode())
    assert head.count("\ntenant\t") == 4
    assert head.count("\nhost\t") == 8
    for number, one in enumerate(classes.classes):
        assert f"\nclass\t{number}\t{one.pattern}\t{one.mean}\t{one.peak}\n" in head
    racks = subprocess.run(
        [written[1], "web-0", "test-1", "nobody"], capture_output=True, text=True, check=True
    )
    assert racks.stdout.split() == ["/r0", "/r1", "/default-rack"]
    site = written[2].read_text()
    assert "<value>nn1:9879,nn2:9879</value>" in site
    assert "HarvestPlacementPolicy" in site
    assert main([*command, "--name-nodes", ","]) == 2
    classes.tenants[0] = msgspec.structs.replace(classes.tenants[0], servers=["web 0"])
    with raises(UsageError, "bad-value", key="server", value="web 0"):
        tenants_text(classes)


def document_with_racks(racks: dict[str, str]) -> Classes:
    return classes_of([], [tenant_of("web", racks, 0)])


def test_the_topology_script_finds_hosts_by_name_and_address(tmp_path):
    script, getent = tmp_path / "topology.sh", tmp_path / "getent"
    getent.write_text(
        '#!/bin/sh\ncase $2 in 10.0.0.1) echo "10.0.0.1 WEB-1.example.com";; 10.0.0.2) echo "10.0.0.2 x db.example.com";;'
        " nine) echo 10.0.0.9 nine;; *) exit 2;; esac\n"
    )
    getent.chmod(0o755)
    racks = {
        "web-1": "r1",
        "Db.example.com": "/r2/",
        "mail.one.org": "/r3",
        "mail.two.org": "r4",
        "10.0.0.9": "/r5",
    }
    script.write_text(topology_text(document_with_racks(racks)))
    expected = {
        "web-1": "/r1", "WEB-1": "/r1", "web-1.example.com.": "/r1", "10.0.0.1": "/r1",
        "db.example.com": "/r2", "db": "/r2", "10.0.0.2": "/r2", "db.other.com": "/default-rack",
        "mail.one.org": "/r3", "mail.two.org": "/r4", "mail": "/default-rack",
        "10.0.0.9": "/r5", "nine": "/r5", "10.0.0.8": "/default-rack", "10": "/default-rack", "*": "/default-rack",
    }  # fmt: skip
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", script, *expected], env=env, capture_output=True, text=True, check=True)
    assert dict(zip(expected, done.stdout.split(), strict=True)) == expected
    assert len(done.stderr.splitlines()) == 5  # one line for each unknown host
    table = HostTable(racks.items())
    for host, rack in expected.items():
        if not host.startswith("10.0.0.") and host != "nine":
            assert (table.get(host) or "default-rack").strip("/") == rack.strip("/")

    script.write_text(topology_text(document_with_racks({"a": "dc1/r1", "b": "/dc2/r1"})))
    done = subprocess.run(["sh", script, "a", "nobody"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["/dc1/r1", "/default/default-rack"]


@pytest.mark.parametrize(
    ("racks", "code", "value"),
    [
        ({"a": "/dc1/r1", "b": "/r2"}, "bad-value", "/r2"),
        ({"a": "r1", "b": "/dc1/r1"}, "bad-value", "/dc1/r1"),
        ({"a": "/r1", "b": ""}, "bad-value", None),
        ({"a": "/"}, "bad-value", "/"),
        ({"a": "/dc1//r1"}, "bad-value", "/dc1//r1"),
        ({"a": "/r1;x"}, "bad-value", "/r1;x"),
        ({"a b": "/r1"}, "bad-value", "a b"),
        ({"a": "/r1", "A.": "/r2"}, "duplicate-name", "A."),
    ],
)
def test_racks_that_hadoop_would_refuse_are_refused(racks, code, value):
    with raises(UsageError, code, value=value):
        topology_text(document_with_racks(racks))


def read_properties(path) -> dict[str, str]:
    found = ElementTree.parse(path).getroot()
    return {one.findtext("name"): one.findtext("value") for one in found.iter("property")}


def test_the_yarn_configuration_matches_keys_and_classes_of_the_plugins(folder, classes, capsys):
    (folder / "classes.json").write_text(encode(classes))
    command = ["harvest", "export", "hadoop", str(folder / "classes.json"), "--out", str(folder / "conf")]
    command += ["--name-nodes", "nn1"]
    assert main(command) == 0
    assert not (folder / "conf" / "yarn-site-hindmost.xml").exists()
    yarn = ["--yarn-load-file", "/run/<load>/%h", "--reserve", "0.25", "--grace", "1500ms"]
    assert main([*command, *yarn]) == 0
    written = [path for line in capsys.readouterr().out.split() if (path := Path(line)).suffix == ".xml"][-3:]
    hdfs, site, scheduler = map(read_properties, written)
    assert site == {
        "hindmost.harvest.utilisation.file": "/run/<load>/%h",
        "hindmost.harvest.reserve": "0.25",
        "hindmost.harvest.grace.ms": "1500",
        "hindmost.harvest.tenants.file": "/etc/hadoop/conf/hindmost-tenants.tsv",
        "hindmost.harvest.keeper.source": "files",
        "yarn.nodemanager.container-executor.os.sched.priority.adjustment": "19",
    }
    prefix = "yarn.scheduler.capacity.multi-node-sorting.policy"
    names = scheduler[f"{prefix}.names"].split(",")
    assert names == ["harvest", "harvest-short", "harvest-medium", "harvest-long"]
    assert scheduler[prefix] == names[0]
    java = Path(__file__).parents[2] / "hadoop/src/main/java"
    read = set(re.findall(r'PREFIX \+ "([a-z.]+)"', (java / "hindmost/hadoop/Keys.java").read_text()))
    own = [key.removeprefix("hindmost.harvest.") for key in (hdfs | site) if key.startswith("hindmost.")]
    assert len(own) == 8
    assert read.issuperset(own)
    classes_of_java = {one.stem: one.read_text() for one in java.rglob("*.java")}
    constants = set(re.findall(r"String (\w+) = PREFIX", classes_of_java.pop("Keys")))
    assert {
        name for text in classes_of_java.values() for name in re.findall(r"Keys\.(\w+)", text)
    } >= constants
    orders = [scheduler[f"{prefix}.{name}.class"].partition("$") for name in names]
    inside = classes_of_java["HarvestNodeOrder"]
    assert [kind for _, _, kind in orders] == ["", "Short", "Medium", "Long"]
    assert all(f"public static final class {kind}<" in inside for _, _, kind in orders[1:])
    named = [one for one, _, _ in orders]
    named += [one for one in hdfs.values() if re.match("(hindmost|org)[.]", one)]
    assert len(named) == 8
    assert all((java / f"{one.replace('.', '/')}.java").is_file() for one in named)


def test_the_yarn_configuration_covers_heartbeats_and_queues(tmp_path):
    texts = yarn_texts(
        "/run/load",
        0.3,
        0,
        installed=tmp_path,
        heartbeats=True,
        queues={"root.a": "long", "root.b": "short"},
        group=Path("/sys/fs/cgroup/batch"),
    )
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    site, scheduler = (read_properties(tmp_path / name) for name in texts)
    assert site["yarn.nodemanager.resource-calculator.class"] == "hindmost.hadoop.PrimaryTenantCalculator"
    assert site["hindmost.harvest.keeper.source"] == "heartbeats"
    assert site["yarn.nodemanager.container-executor.class"] == "hindmost.hadoop.IdleExecutor"
    assert site["hindmost.harvest.cgroup"] == "/sys/fs/cgroup/batch"
    assert site["hindmost.harvest.tenants.file"] == str(tmp_path / "hindmost-tenants.tsv")
    queues = {key: one for key, one in scheduler.items() if ".root." in key}
    assert queues == {
        "yarn.scheduler.capacity.root.a.multi-node-sorting.policy": "harvest-long",
        "yarn.scheduler.capacity.root.b.multi-node-sorting.policy": "harvest-short",
    }


@each_row(
    ("load_file", "reserve", "more", "option", "value"),
    [
        ("/run/load", 0.3, {}, "--yarn-load-file", "/run/load"),
        ("/run/%h", 1.0, {}, "--reserve", 1.0),
        ("/run/%h", -0.1, {}, "--reserve", -0.1),
        ("/run/%h", 0.3, {"group": Path("batch")}, "--batch-group", "batch"),
        ("/run/%h", 0.3, {"queues": {"root.a": "longer"}}, "--queues", "root.a=longer"),
        ("/run/%h", 0.3, {"queues": {"a": "long"}}, "--queues", "a=long"),
        ("/run/%h", 0.3, {"queues": {"root.a": ""}}, "--queues", "root.a="),
    ],
)
def test_invalid_options_for_yarn_are_refused(load_file, reserve, more, option, value):
    with raises(UsageError, "bad-value", option=option, value=value):
        yarn_texts(load_file, reserve, 0, installed=Path("/etc/hadoop/conf"), **more)


def test_a_refused_option_for_yarn_writes_nothing(folder, classes, capsys):
    (folder / "classes.json").write_text(encode(classes))
    command = ["harvest", "export", "hadoop", str(folder / "classes.json"), "--name-nodes", "nn1"]
    command += ["--out", str(folder / "conf"), "--yarn-load-file", "/run/%h", "--queues", "root.a"]
    assert main(command) == 2
    assert capsys.readouterr().err.startswith("error[bad-value]")
    assert not (folder / "conf").exists()


def test_simulations_are_marked_synthetic_and_refuse_invalid_settings(capsys):
    small = ["--servers", "300", "--json"]
    assert main(["harvest", "simulate", "durability", "--setting", "blocks=5000", *small]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["synthetic"] is True
    assert found["result"]["reimages"] > 0
    words = ["harvest", "simulate", "durability", "--setting", "policy=best"]
    assert_refused(words, capsys, 2, "harvest-document")
    words = ["harvest", "simulate", "availability", "--center", "10"]
    assert_refused(words, capsys, 2, "bad-value", option="--center", value=10, most=9)


def test_simulators_run_on_recorded_traces(folder, capsys):
    traces = read_traces(folder)
    assert traces.balance["web-0"] > 1.05 > 0.95 > traces.balance["web-1"]
    command = ["harvest", "simulate", "availability", "--traces", str(folder), "--setting", "blocks=400"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["synthetic"], found["request"]["days"]) == (False, 5.0)
    # Half of ten days, every block once an hour. Only `test` exceeds two thirds, a third of the time, on two of
    # eight servers.
    assert found["result"]["accesses"] == 400 * 120
    assert found["result"]["busy"] == pytest.approx(2 * 0.33 / 8, abs=0.02)
    for kind, settings in (("durability", ["months=24", "blocks=2000"]), ("hazard", ["sample=500"])):
        words = [word for one in settings for word in ("--setting", one)]
        assert main(["harvest", "simulate", kind, "--traces", str(folder), *words]) == 0
    assert {"8", "4"} <= set(re.findall(r"\d+", capsys.readouterr().out.partition("\n\n")[0]))
    primary = {}
    for scheduler in ("aware", "history"):
        found = simulate("scheduling", traces=traces, scheduler=scheduler, days=0.5, demand=0.1)
        primary[scheduler] = found.result["primary"]
    assert primary["aware"] == primary["history"] == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize(
    ("change", "kind", "settings", "code", "fields"),
    [
        ("reimages", "durability", {}, "no-reimages", {"tenants": 4}),
        ("reimages", "hazard", {}, "no-reimages", {"tenants": 4}),
        ("gaps", "availability", {}, "few-readings", {"have": 0, "tenants": 4}),
        (None, "availability", {"days": 6.0}, "harvest-long", {}),
        (None, "scheduling", {"days": 9.0}, "harvest-long", {}),
        (None, "availability", {"utilisation": 2.0}, "harvest-range", {}),
        (None, "scheduling", {"step_s": 0.0}, "harvest-range", {}),
    ],
)
def test_unsuitable_traces_are_refused(folder, change, kind, settings, code, fields):
    traces = read_traces(folder)
    for tenant in traces.tenants:
        tenant.reimages = 0.0 if change == "reimages" else tenant.reimages
    if change == "gaps":
        traces.cpu[:, ::2] = np.nan
    with raises(UsageError, code, **fields) as refused:
        simulate(kind, traces=traces, **settings)
    assert settings.items() <= refused.value.fields.get("settings", {}).items()


def test_an_interrupted_classification_keeps_the_old_file(folder, monkeypatch):
    out = folder / "out" / "found.json"
    out.parent.mkdir()
    out.write_text("older")

    def interrupt(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    command = ["harvest", "classify", str(folder), "--out", str(out)]
    with suppress(KeyboardInterrupt):
        main(command)
    assert out.read_text() == "older"
    assert list(out.parent.iterdir()) == [out]
