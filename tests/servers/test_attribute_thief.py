"""A real study under a thief: four planted switches, a real-time thread that takes the server's processor.

Signs and sizes are those that the simulator says of the same clone documents, without a thief.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from measuring import finish, need_two_processors, start
from thief import thief

from hindmost.models import load_clone
from hindmost.models.simulation import Design, run_points
from hindmost.targets import parse_target
from hindmost.targets.placeholders import render

SERVER = Path(__file__).parents[1] / "shared" / "switches-server.toml"
RATE = 400.0
STUDY = f"""
name = "switches under a thief"
target = "{SERVER}"
quantiles = "50,95,99"

[measure]
server_cpus = "0"
client_cpus = "1"
connections = 8
workload = "few.json"
duration = "1500ms"
warmup = "200ms"

[[load]]
name = "usual"
rate = "{RATE:g}"

[[factor]]
name = "slow"
option = "slow"
levels = [0.0, 1.0]

[[factor]]
name = "interact"
option = "interact_us"
levels = [1, 500]

[[factor]]
name = "nothing"
option = "seed"
levels = [1, 2]

[[factor]]
name = "steady"
option = "rare"
levels = [0.02, 0.0]

[design]
blocks = "4"

[confirm]
runs = 8
"""
OPTIONS = {"slow": "slow", "interact": "interact_us", "nothing": "seed", "steady": "rare"}
LIMIT_S = 440.0


def true_us(levels: dict[str, str], folder: Path) -> dict[str, float]:
    """What the simulator says of a cell."""
    spec = parse_target(str(SERVER)).spec
    values = spec.options | {OPTIONS[name]: float(level) for name, level in levels.items()}
    file = folder / "clone.toml"
    file.write_text(render(spec.files["clone.toml"], values))
    design = Design(requests=200_000, seed=5, quantiles=(0.5, 0.95, 0.99))
    (outcome,) = run_points(load_clone(str(file)), [{"load": {"rate_per_s": RATE}}], design)
    return {name: one["value"] for name, one in outcome.prediction["latency_us"].items()}


@pytest.mark.nightly
@pytest.mark.timeout(LIMIT_S + 60.0)
def test_planted_switches_are_found_by_calm_latency_under_a_thief(tmp_path):
    need_two_processors()
    file, out = tmp_path / "study.toml", tmp_path / "study"
    file.write_text(STUDY)
    (tmp_path / "few.json").write_text('{"kind": "key-value", "keys": 50}')  # storing each takes a service
    with thief(0, 0.05, until_s=LIMIT_S):
        ran = finish(start("attribute", file, "--json", "--out", out), out, LIMIT_S)
    document = json.loads(ran.out)
    print(finish(start("report", out), out).out)
    (load,) = document["loads"]
    assert load["theft"]["refused"] is None, load["theft"]
    assert load["theft"]["runs"] > 0.5 * load["theft"]["of"]
    effects = {
        (label, one["term"]): one
        for label in document["quantiles"]
        for one in load["quantiles"][label]["average"]
    }
    assert effects["p50", "slow"]["verdict"] == "raises"
    assert effects["p50", "slow:interact"]["verdict"] == "raises"
    assert effects["p95", "slow"]["verdict"] == "raises"
    assert effects["p99", "steady"]["verdict"] == "lowers"
    assert not any(
        one["verdict"] in ("raises", "lowers") for (_, term), one in effects.items() if term == "nothing"
    )
    advised = document["recommendation"]["levels"]
    if advised is not None:
        now, then = (true_us(one, tmp_path) for one in (document["design"]["control"], advised))
        assert then["p99"] < now["p99"]
