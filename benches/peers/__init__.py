"""Hindmost beside other load testers: ``python -m benches.peers --help``.

One file a peer says how it is had, called, and read. `contest` runs everybody in alternating rounds and keeps
each measurement as one line of JSON; `wire` sees what a capture saw; `table` makes ratios of the lines.
"""
