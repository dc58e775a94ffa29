"""Compares predictors on a simulated core and steers 4,000 servers by them: `make reproduce PAPER=smite`."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.present.terminal import render_terminal
from reproduce.smite.core import compare, steering
from reproduce.smite.tables import predictors_view, steering_view

if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m reproduce.smite", description=__doc__)
    options.add_argument("--programs", type=int, default=28, help="random programs")
    options.add_argument("--partners", type=int, help="other programs that each runs next to (all)")
    options.add_argument(
        "--violations", type=float, default=0.05, help="accepted fraction of broken promises"
    )
    options.add_argument("--load", type=float, default=0.5, help="load of the servers, for the tail")
    options.add_argument("--pods", type=Path, help="list of pods as in Alibaba's cluster-trace-gpu-v2023")
    asked = options.parse_args()
    pods = None if asked.pods is None else asked.pods.read_text(encoding="utf-8")
    compared = compare(asked.programs, rate=asked.violations, partners=asked.partners)
    print(render_terminal(predictors_view(compared)))
    print(render_terminal(steering_view(steering(asked.programs, load=asked.load, pods=pods))))
