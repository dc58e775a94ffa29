"""Rulers from Python: the certificate as a document, in words and as a picture."""

import json
import os
import platform
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from messages import raises

from hindmost import _engine
from hindmost.cli import main
from hindmost.errors import Exit, HostUnfit, UsageError
from hindmost.report.colocation.stressors import picture, render_stressors
from hindmost.studies.colocation import processor as processors
from hindmost.studies.colocation.stressors import call_engine

DOCUMENT = {
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
}


def test_a_certificate_is_told_with_rates_groups_caches_and_neighbours():
    text = render_stressors(DOCUMENT, width=100, color=False)
    for value in ("99.0%", "SSE4.1", "32 KiB", "165", "far"):
        assert value in text
    group = {"classes": ["fp_mul", "vec_mul"]}
    apart, shared = (
        render_stressors(DOCUMENT | {"groups": [group | {"axis": axis}]}, width=100, color=False)
        for axis in (True, False)
    )
    assert "fp_mul, vec_mul" in apart
    assert apart != shared


def test_the_picture_has_a_cell_for_each_pair_and_is_well_formed():
    drawn = ElementTree.fromstring(picture(DOCUMENT))
    cells = [one for one in drawn.iter() if one.tag.endswith("rect")]
    assert len(cells) == 1
    assert "<EPYC>" in "".join(drawn.itertext())


def test_what_the_engine_measures_is_written_as_the_document_says(tmp_path, monkeypatch, capsys):
    from hindmost.studies.colocation import stressors

    monkeypatch.setattr(
        _engine, "cache_knees", lambda *_: json.dumps({"l1": 1, "l2": 2, "l3": 3, "steps": []})
    )
    monkeypatch.setattr(stressors, "allowed_cpus", lambda: processors.allowed_cpus()[:1])
    # What two measurements of a busy core agree on is not looked at here.
    monkeypatch.setattr(stressors, "find_slowed", lambda _: [])
    monkeypatch.setattr(stressors, "find_unsaturated", lambda _: [])
    out = tmp_path / "core.json"
    code = main(["colocate", "stressors", "--bursts", "1", "--json", "--out", str(out)])
    if code == Exit.UNFIT:
        assert json.loads(capsys.readouterr().out)["code"] == "stressor-busy"
        pytest.skip("this host leaves no burst alone")
    assert code == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    assert json.loads(capsys.readouterr().out) == document
    names = _engine.instruction_classes()
    assert [one["name"] for one in document["rates"]] == names
    present = sum(one["rate"] is not None for one in document["rates"])
    assert len(document["overlaps"]) == present * (present + 1) // 2
    assert sorted(one for group in document["groups"] for one in group["classes"]) == sorted(
        one["name"] for one in document["rates"] if one["rate"] is not None
    )


def test_a_processor_that_may_not_be_used_is_refused_with_those_that_may():
    with raises(UsageError, "bad-value", value=4000, known=sorted(os.sched_getaffinity(0))):
        processors.choose_cpu(4000)
    with raises(HostUnfit, "stressor-processor"):
        call_engine(_engine.cache_knees, 4000, 1)


def test_one_processor_only_is_told_before_anything_is_started(monkeypatch):
    monkeypatch.setattr(processors, "allowed_cpus", lambda: [0])
    with raises(HostUnfit, "few-processors", have=1, need=2):
        processors.choose_pair(None)


def test_stressors_know_their_names_and_do_their_work_in_a_window(tmp_path):
    known = json.loads(_engine.stressors())
    assert {"null", "fp_mul", "l3", "dram", "tlb", "page_fault", "loopback", "disk"} <= {
        one["name"] for one in known
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
    with pytest.raises(_engine.EngineError) as refused:
        _engine.Stressor("coffee", knees, str(tmp_path), 1)
    assert refused.value.args[0] == "stressor-unknown"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="SSE4.1 is of x86-64")
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="qemu-x86_64 is not installed (qemu-user)")
def test_a_stressor_that_the_processor_cannot_run_is_refused_before_it_is_tried():
    script = """
import json, sys, tempfile
sys.path[:0] = sys.argv[2:]
from hindmost.errors import HostUnfit
from hindmost.studies.colocation.stressors import make_stressors
with tempfile.TemporaryDirectory() as folder:
    make_stressors(["null", "vec_add"], sys.argv[1], folder, 1)["vec_add"]
    try:
        make_stressors(["null", "vec_add", "vec_mul"], sys.argv[1], folder, 1)
    except HostUnfit as refused:
        print(json.dumps([refused.code, refused.fields["name"], refused.hint]))
"""
    knees = _engine.cache_knees(max(os.sched_getaffinity(0)), 1)
    # An x86-64 of the first kind, by an emulator: without SSE4.1, and without what numpy is compiled for.
    words = ["qemu-x86_64", "-cpu", "qemu64", os.path.realpath(sys.executable), "-S", "-c", script, knees]
    done = subprocess.run([*words, *sys.path], capture_output=True, text=True, timeout=100, check=True)
    code, name, hint = json.loads(done.stdout)
    assert (code, name) == ("stressor-unsupported", "vec_mul")
    assert hint.endswith("--stressors vec_add")
