"""Simulates the figures of chapter IV and prints them as a table: `make reproduce PAPER=harvest`."""

from __future__ import annotations

import argparse
import sys

from reproduce.harvest.card import card, render_card

if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m reproduce.harvest", description=__doc__)
    options.add_argument("--seeds", type=int, default=5, help="data centers drawn for each point")
    options.add_argument("--servers", type=int, default=1000, help="servers of each data center")
    asked = options.parse_args()
    print(render_card(card(asked.seeds, asked.servers, lambda line: print(line, file=sys.stderr))))
