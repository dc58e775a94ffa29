"""``hindmost synth``: doubles of servers. One file a sub-verb, each loaded when it is called.

A sub-verb is a file ``NAME.py`` here with a function ``NAME``, and one row in `SUBVERBS`.
"""

from __future__ import annotations

PURPOSE = "Doubles of servers: fit one to measured service times, serve it, simulate it, vary it."

SUBVERBS: dict[str, tuple[str, str, str]] = {
    "fit": (
        "LOG... [OPTIONS]",
        "Fit a clone to measured service times.",
        """\
Examples:
  hindmost synth fit server.csv --out clone.toml --page fit.html
  hindmost synth fit one.csv two.csv four.csv --out clone.toml
  hindmost synth fit times.parquet --column service_us > clone.toml

""",
    ),
    "simulate": (
        "CLONE [OPTIONS]",
        "Predict a clone's latency by simulating its queues.",
        """\
Examples:
  hindmost synth simulate xapian --utilisation 70%
  hindmost synth simulate clone.toml --rate 5k --threads 4

""",
    ),
    "sweep": (
        "CLONE [OPTIONS]",
        "Predict latency against load for many designs, or find one.",
        """\
Examples:
  hindmost synth sweep silo --vary threads=1,2,4 --out sweep.html
  hindmost synth sweep xapian --vary 'service[1].law.median_us=900..1800:4' --utilisation 50%,70%
  hindmost synth sweep xapian --find 'p99<10ms' --by threads --rate 2k

""",
    ),
    "show": (
        "CLONE [OPTIONS]",
        "Print a clone document, and what follows from it.",
        """\
Examples:
  hindmost synth show xapian
  hindmost synth show silo > mine.toml

""",
    ),
    "serve": (
        "CLONE [OPTIONS]",
        "Serve a clone: a real server that spends its time as the document says.",
        """\
Examples:
  hindmost synth serve silo --cpus 0
  hindmost synth serve xapian --protocol http --address 127.0.0.1:8080 --log truth.csv
  hindmost synth serve masstree --integrated --rate 5k --requests 100000 --json

""",
    ),
    "verify": (
        "CLONE ORIGINAL [OPTIONS]",
        "Show whether a clone is as slow as its original, by paired runs.",
        """\
Examples:
  hindmost synth verify sqlite.toml originals/targets/sqlite.toml
  hindmost synth verify clone.toml memcached --loads 20%,50% --pairs 10

""",
    ),
}
"""Sub-verb to usage, purpose and examples, in the order of the help page."""
