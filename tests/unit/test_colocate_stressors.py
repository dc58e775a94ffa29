"""Stressors from Python: the certificate as a document, as text and as a picture."""

import json
import os
import platform
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import msgspec
import pytest
from messages import raises
from msgspec.structs import replace

from hindmost import _engine
from hindmost.cli import main
from hindmost.commands.colocate import processor as processors
from hindmost.commands.colocate.documents.profiles import PortGroup, Stressors
from hindmost.commands.colocate.stressors import call_engine
from hindmost.commands.colocate.view.stressors import picture, view_stressors
from hindmost.errors import Exit, HostUnfit, UsageError
from hindmost.present import numbers
from hindmost.present.terminal import render_terminal

DOCUMENT = msgspec.convert(
    {
        "schema": "hindmost.stressors/1",
        "processor": {"vendor": "AuthenticAMD", "family": 25, "model": 17, "name": "AMD <EPYC>"},
        "cpu": 1,
        "ghz": 3.69,
        "rates": [
            {
                "name": "fp_mul",
                "rate": 1.98,
                "low": 1.97,
                "high": 1.99,
                "documented": 2.0,
                "share": 0.99,
                "clean": 5,
                "tried": 9,
                "missing": None,
            },
            {
                "name": "vec_mul",
                "rate": None,
                "low": None,
                "high": None,
                "documented": None,
                "share": None,
                "clean": 0,
                "tried": 0,
                "missing": "SSE4.1",
            },
        ],
        "overlaps": [{"a": "fp_mul", "b": "fp_mul", "value": 1.0, "low": 1.0, "high": 1.0}],
        "groups": [{"classes": ["fp_mul"], "axis": True}],
        "caches": {"l1_bytes": 32768, "l2_bytes": 1048576, "l3_bytes": 8388608},
        "neighbours": [{"cpu": 0, "placement": "far", "one_way_ns": 165.2, "same_port": 1.0}],
        "took_s": 5.0,
        "certificate_s": 3.0,
    },
    Stressors,
)


def test_a_certificate_shows_rates_groups_caches_and_neighbours():
    text = render_terminal(view_stressors(DOCUMENT), width=100)
    for value in ("99.0\u202f%", "SSE4.1", numbers.bytes_(32768), "165", "far"):
        assert value in text
    separate, shared = (
        render_terminal(
            view_stressors(replace(DOCUMENT, groups=[PortGroup(classes=["fp_mul", "vec_mul"], axis=axis)]))
        )
        for axis in (True, False)
    )
    assert "fp_mul, vec_mul" in separate
    assert separate != shared


def test_the_picture_has_a_cell_for_each_pair_and_is_well_formed():
    image = ElementTree.fromstring(picture(DOCUMENT))
    cells = [element for element in image.iter() if element.tag.endswith("rect")]
    assert len(cells) == 1
    assert "<EPYC>" in "".join(image.itertext())


def test_the_document_has_every_class_that_the_engine_measures(tmp_path, monkeypatch, capsys):
    from hindmost.commands.colocate import stressors

    monkeypatch.setattr(
        _engine, "cache_knees", lambda *_: json.dumps({"l1": 1, "l2": 2, "l3": 3, "steps": []})
    )
    monkeypatch.setattr(stressors, "allowed_cpus", lambda: processors.allowed_cpus()[:1])
    # Agreement of two measurements on a busy core is tested elsewhere.
    monkeypatch.setattr(stressors, "find_slowed", lambda _: [])
    monkeypatch.setattr(stressors, "find_unsaturated", lambda _: [])
    out = tmp_path / "core.json"
    code = main(["colocate", "stressors", "--bursts", "1", "--json", "--out", str(out)])
    if code == Exit.UNFIT:
        assert json.loads(capsys.readouterr().out)["code"] == "stressor-busy"
        pytest.skip("every burst was disturbed on this host")
    assert code == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    assert json.loads(capsys.readouterr().out) == document
    names = _engine.instruction_classes()
    assert [row["name"] for row in document["rates"]] == names
    present = sum(row["rate"] is not None for row in document["rates"])
    assert len(document["overlaps"]) == present * (present + 1) // 2
    assert sorted(name for group in document["groups"] for name in group["classes"]) == sorted(
        row["name"] for row in document["rates"] if row["rate"] is not None
    )


def test_a_cpu_outside_the_affinity_is_refused_with_the_allowed_ones():
    with raises(UsageError, "bad-value", value=4000, known=sorted(os.sched_getaffinity(0))):
        processors.choose_cpu(4000)
    with raises(HostUnfit, "stressor-processor"):
        call_engine(_engine.cache_knees, 4000, 1)


def test_a_single_cpu_is_refused_before_anything_starts(monkeypatch):
    monkeypatch.setattr(processors, "allowed_cpus", lambda: [0])
    with raises(HostUnfit, "few-processors", have=1, need=2):
        processors.choose_pair(None)


def test_a_stressor_works_in_its_window_and_an_unknown_one_is_refused(tmp_path):
    all_stressors = json.loads(_engine.stressors())
    assert {"null", "fp_mul", "l3", "dram", "tlb", "page_fault", "loopback", "disk"} <= {
        stressor["name"] for stressor in all_stressors
    }
    knees = json.dumps({"l1": 32 << 10, "l2": 1 << 20, "l3": 8 << 20, "steps": []})
    stressor = _engine.Stressor("fp_mul", knees, str(tmp_path), 1)
    now = _engine.monotonic_ns()
    window = json.loads(
        stressor.run(
            json.dumps(
                {
                    "cpu": None,
                    "start_ns": now,
                    "duration_ns": 2_000_000,
                    "duty": 1.0,
                    "period_ns": 10_000,
                    "real_time": False,
                }
            )
        )
    )
    assert window["done"] > 0
    assert window["ended_ns"] - window["began_ns"] >= 2_000_000
    with pytest.raises(_engine.EngineError) as caught:
        _engine.Stressor("coffee", knees, str(tmp_path), 1)
    assert caught.value.args[0] == "stressor-unknown"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="SSE4.1 exists on x86-64 only")
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-x86_64 is not installed (qemu-user)")
def test_a_stressor_that_the_cpu_cannot_run_is_refused():
    script = """
import json, sys, tempfile
sys.path[:0] = sys.argv[2:]
from hindmost.errors import HostUnfit
from hindmost.commands.colocate.stressors import make_stressors
with tempfile.TemporaryDirectory() as folder:
    make_stressors(["null", "vec_add"], sys.argv[1], folder, 1)["vec_add"]
    try:
        make_stressors(["null", "vec_add", "vec_mul"], sys.argv[1], folder, 1)
    except HostUnfit as refused:
        print(json.dumps([refused.code, refused.fields["name"], refused.hint]))
"""
    knees = _engine.cache_knees(max(os.sched_getaffinity(0)), 1)
    # Emulate an early x86-64 without SSE4.1 and without the instructions that numpy is compiled for.
    command = ["qemu-x86_64", "-cpu", "qemu64", os.path.realpath(sys.executable), "-S", "-c", script, knees]
    process = subprocess.run([*command, *sys.path], capture_output=True, text=True, timeout=100, check=True)
    code, name, hint = json.loads(process.stdout)
    assert (code, name) == ("stressor-unsupported", "vec_mul")
    assert hint.endswith("--stressors vec_add")
