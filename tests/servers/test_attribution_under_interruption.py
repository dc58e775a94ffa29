"""Switches planted in a real server while a real-time interferer uses its CPU: no verdict is wrong.

The true effects in microseconds come from the simulator, with the same clone that the server runs and no interferer. An
effect may remain undecided, with the number of blocks that would decide it, but may not be wrong.
"""

from __future__ import annotations

from typing import Any

import pytest
from factorials import factor, load, read
from interferer import interferer, need_real_time
from measuring import finish, need_two_cpus, start
from planted_truth import EXAMPLES, true_effects

SHARE, SPELL_MS = 0.05, 3.0
HEAD = """
name = "planted, with an interferer"
target = "{target}"
quantiles = "50,95,99"
scale = "us"
[measure]
connections = 16
duration = "1.2s"
warmup = "200ms"
"""
SWITCHES = {
    "body": factor("body", 60, 90, option="body_us"),
    "rare": factor("rare", 0.03, 0.004),
    "nothing": factor("nothing", 1, 2, option="seed"),
    "hold": factor("hold", 25, 5, option="hold_us"),
}


@pytest.mark.nightly  # an interferer at real-time priority would disturb tests that run at the same time
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("names", "blocks"), [(("body", "rare"), 6), (("body", "rare", "nothing", "hold"), 8)], ids=["few", "all"]
)
def test_effects_of_planted_switches_are_right_or_undecided_under_interference(tmp_path, names, blocks):
    server, client = need_two_cpus()
    need_real_time()
    file, out = tmp_path / "study.toml", tmp_path / "study"
    cpus = f'server_cpus = "{server}"\nclient_cpus = "{client}"\n'
    parts = [load("busy", "4k"), *(SWITCHES[name] for name in names)]
    design = f'[design]\nblocks = "{blocks}"\n[confirm]\nskip = true\n'
    file.write_text("".join([HEAD.format(target=EXAMPLES / "planted-server.toml"), cpus, *parts, design]))
    with interferer(server, SHARE, SPELL_MS, until_s=800.0):
        document = read(finish(start("attribute", file, "--json", "--out", out, fresh=True), out, 850.0))
    print("\n".join(judge(document, true_effects(document, tmp_path))))


def judge(document: dict[str, Any], truth: dict[str, dict[str, float]]) -> list[str]:
    """Compare each effect with the truth; fails where a verdict is wrong."""
    (busy,) = document["loads"]
    interference = busy["interference"]
    lines = [f"by isolated latency: {interference}"]
    wrong = []
    for label, effects in truth.items():
        for effect in busy["quantiles"][label]["average"][1:]:
            true, low, high = effects[effect["term"]], effect["low"], effect["high"]
            lines.append(
                f"{label:>4} {effect['term']:20} true {true:+8.1f}  found {effect['value']:+8.1f}"
                f" [{low:+.1f}, {high:+.1f}]  {effect['verdict']}"
            )
            sign = {"raises": 1.0, "lowers": -1.0}.get(effect["verdict"], 0.0)
            # The simulator has no client and no network, which add some microseconds that no switch causes.
            if sign * true < 0.0 or (sign and abs(true) < 2.0):
                wrong.append(lines[-1])
    advice = document["recommendation"]
    lines.append(advice["text"])
    assert not wrong, "\n".join(lines)
    if advice["levels"] is not None:
        assert advice["levels"]["body"] == "60", advice["text"]
        assert advice["levels"]["rare"] == "0.004", advice["text"]
    else:
        assert advice["outcome"] in ("tied", "open"), "the present setting is not the best"
    if interference is not None and interference["refused"] is None:
        effects = {effect["term"]: effect for effect in busy["quantiles"]["p50"]["average"]}
        assert "body" in effects, "too few runs are left to estimate it"
        assert effects["body"]["verdict"] == "raises", "\n".join(lines)
    return lines
