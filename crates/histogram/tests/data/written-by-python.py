"""Writes `written-by-python.hlog` with the package `hdrhistogram`: `python written-by-python.py FILE`."""

import sys
from pathlib import Path

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

HOUR_NS = 3_600_000_000_000

with Path(sys.argv[1]).open("w", encoding="ascii") as file:
    log = HistogramLogWriter(file)
    log.output_comment("[Histogram log written by another implementation]")
    log.output_log_format_version()
    log.output_comment("[StartTime: 1700000000.000 (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]")
    log.output_legend()

    ramp = HdrHistogram(1, HOUR_NS, 3)
    for i in range(1, 1001):
        ramp.record_value(i * 1000)
    log.output_interval_histogram(ramp, 1_700_000_000.0, 1_700_000_001.0)

    seconds = HdrHistogram(1, HOUR_NS, 3)
    seconds.record_value(1_000_000_000, 7)
    file.write("Tag=service/set,")  # the package reads tags and writes none
    log.output_interval_histogram(seconds, 1_700_000_001.0, 1_700_000_002.5)
