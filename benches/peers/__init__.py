"""Hindmost compared with other load testers: ``python -m benches.peers --help``.

There is one file per peer: how it is installed, called, and read. `contest` runs all clients in alternating
rounds and stores each measurement as one line of JSON; `wire` reads packet captures; `table` computes ratios.
"""
