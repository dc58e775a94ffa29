"""memaslap (Debian: memcaslap): closed loop; stores its keys first; reports mean, maximum and powers of
two."""

from __future__ import annotations

import re

from benches.peers.peer import KEY_BYTES, VALUE_BYTES, Job, Peer, Report, Source, Unreadable

_WINDOW = "1k"
"""1024 keys per connection: all are stored before the gets, so that every get hits."""
_CONFIGURATION = f"""key
{KEY_BYTES} {KEY_BYTES} 1
value
{VALUE_BYTES} {VALUE_BYTES} 1
cmd
0 0.0
1 1.0
"""


def _command(job: Job, program: str) -> list[str]:
    configuration = job.folder / "memaslap.cnf"
    configuration.write_text(_CONFIGURATION, encoding="ascii")
    seconds = max(1, round(job.seconds))
    return [
        program,
        "-s",
        job.address,
        "-T",
        "1",
        "-c",
        str(job.connections),
        "-w",
        _WINDOW,
        "-F",
        str(configuration),
        "-t",
        f"{seconds}s",
        "-S",
        f"{seconds}s",
    ]


def read(job: Job, out: str) -> Report:
    """Parse its last statistics of gets, and its counts.

    It reports no percentile: its histogram has one bucket per power of two, which gives the p99 only to a
    factor of two. So no percentile is reported here.
    """
    counts = {
        name: int(n) for name, n in re.findall(r"^(cmd_get|cmd_set|get_misses): ([0-9]+)", out, re.MULTILINE)
    }
    total = re.search(r"^Run time: ([0-9.]+)s", out, re.MULTILINE)
    block = re.findall(
        r"Get Statistics \([0-9]+ events\)\n\s+Min:\s+[0-9]+\n\s+Max:\s+([0-9]+)\n\s+Avg:\s+([0-9]+)", out
    )
    if total is None or "cmd_get" not in counts or not block:
        raise Unreadable("memaslap", "statistics", out)
    most, mean = block[-1]
    # Its "TPS" includes the sets before the run.
    return Report(
        counts["cmd_get"],
        counts["cmd_get"] / float(total[1]),
        counts["get_misses"],
        {"mean": float(mean), "max": float(most)},
    )


MEMASLAP = Peer(
    "memaslap", "memcached", Source("debian", "libmemcached-tools", "1.1.4", "memcaslap"), _command, read
)
