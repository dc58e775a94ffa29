"""Aggregates over ranges of an in-memory SQLite table, one line per query."""

import random
import sqlite3

base = sqlite3.connect(":memory:")
base.execute("create table sale (day integer, price integer)")
draw = random.Random(1)
rows = ((day % 365, draw.randrange(1000)) for day in range(200_000))
base.executemany("insert into sale values (?, ?)", rows)
base.execute("create index by_day on sale (day)")
while True:
    first = draw.randrange(360)
    base.execute("select sum(price) from sale where day between ? and ?", (first, first + 4)).fetchone()
    print("range", flush=True)
