"""``hindmost synth verify`` against real servers: a clone of itself is not called different, a slower one is."""

from __future__ import annotations

import json

import jsonschema
import pytest
from measuring import need_two_processors

from hindmost.cli import main
from hindmost.store.documents import schemas

SHORT = ("--loads", "30%", "--duration", "1s", "--warmup", "0.2s", "--quiet")
SERVICE_US = 300.0


def clone(folder, factor=1.0):
    """A document of a server with short tails, so that few requests are enough."""
    path = folder / f"clone-{factor:g}.toml"
    low, high = (spread * factor * SERVICE_US for spread in (0.8, 1.2))
    path.write_text(
        'schema = "hindmost.clone/1"\nname = "short-tails"\n[[service]]\n'
        f'law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}\n'
    )
    return path


def verify(out, double, original, *more):
    words = ["synth", "verify", double, f"synth?clone={original}&protocol=http", *SHORT, "--out", out, *more]
    return main([str(word) for word in words])


def verified(folder, capsys, double, original, *more):
    code = verify(folder / f"study-{double.stem}", double, original, "--json", *more)
    said = capsys.readouterr()
    assert said.out, said.err
    return code, json.loads(said.out), said.err


def skip_where_disturbed(result):
    left_out = sum(point["left_out"] for point in result["points"])
    if left_out > 1:
        pytest.skip(f"the host disturbed {left_out} pairs: {result['points'][0]['why']}")


def test_a_server_against_its_own_document_and_against_one_20_percent_slower(tmp_path, capsys):
    need_two_processors()
    truth = clone(tmp_path)
    code, alike, said = verified(tmp_path, capsys, truth, truth, "--pairs", "4")
    jsonschema.Draft202012Validator(schemas()["verification"]).validate(alike)
    assert alike["points"][0]["rate_per_s"] == pytest.approx(0.3e6 / SERVICE_US, rel=1e-3)
    assert (tmp_path / "study-clone-1" / "verification.html").stat().st_size > 10_000
    skip_where_disturbed(alike)
    assert (code, alike["verdict"]) in ((0, "equivalent"), (4, "open")), alike["points"]

    code, slower, said = verified(tmp_path, capsys, clone(tmp_path, 1.2), truth, "--pairs", "3")
    skip_where_disturbed(slower)
    assert (code, slower["verdict"]) == (3, "different"), said
    assert slower["points"][0]["figures"]["mean"]["clone"]["ratio"] > 1.1


def test_it_goes_on_where_it_stopped_and_refuses_other_runs(tmp_path, capsys):
    need_two_processors()
    truth = clone(tmp_path)
    _, first, _ = verified(tmp_path, capsys, truth, truth, "--pairs", "2")
    runs = sorted((tmp_path / "study-clone-1").glob("0.3/*/runs/0*/run.json"))
    times = [run.stat().st_mtime_ns for run in runs]
    assert len(runs) == 6
    _, again, _ = verified(tmp_path, capsys, truth, truth, "--pairs", "2")
    assert [run.stat().st_mtime_ns for run in runs] == times, "finished runs are never made again"
    assert again["points"] == first["points"]
    code = verify(tmp_path / "study-clone-1", clone(tmp_path, 1.1), truth, "--pairs", "2")
    assert code == 2
    assert "another clone" in capsys.readouterr().err
