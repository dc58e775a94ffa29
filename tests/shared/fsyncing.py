"""A program whose worker waits for the disk in one request of 200, and logs its requests as a server does.

Run as ``python fsyncing.py LOG.csv FILE REQUESTS``. The parent process sends a request every 500 us on average and
stamps its arrival. The worker, a separate process, uses 100 us of CPU time and logs. On standard output it prints the
time in seconds for which it was ready but did not run (``/proc/self/schedstat``), and the number of requests that
waited for the disk.
"""

import os
import random
import struct
import sys
import time
from pathlib import Path

GAP_S, SERVICE_NS, SHARE, WAIT_NS = 500e-6, 100_000, 0.005, 6_000_000
STAMP = struct.Struct("q")


def worker(pipe, log, file, requests):
    """Serve the requests that arrive through the pipe."""
    draws = random.Random(7)
    lines, waits = ["arrival_ns,start_ns,end_ns,cpu_ns,thread,kind"], 0
    disk = os.open(file, os.O_WRONLY | os.O_CREAT)
    for _ in range(requests):
        arrival = STAMP.unpack(os.read(pipe, STAMP.size))[0]
        start, before = time.monotonic_ns(), time.thread_time_ns()
        until = before + int(SERVICE_NS * draws.lognormvariate(0.0, 0.3))
        while time.thread_time_ns() < until:
            pass
        if draws.random() < SHARE:
            waits += 1
            while time.monotonic_ns() - start < WAIT_NS:
                os.pwrite(disk, draws.randbytes(4096), 4096 * draws.randrange(256))
                os.fsync(disk)
        cpu, end = time.thread_time_ns() - before, time.monotonic_ns()
        lines.append(f"{arrival},{start},{end},{cpu},0,all")
    Path(log).write_text("\n".join([*lines, ""]), encoding="utf-8")
    run_delay_s = int(Path("/proc/self/schedstat").read_text(encoding="utf-8").split()[1]) / 1e9
    print(run_delay_s, waits, flush=True)


def main():
    """Send requests at random times, and wait for the worker."""
    log, file, requests = sys.argv[1], sys.argv[2], int(sys.argv[3])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        worker(reading, log, file, requests)
        os._exit(0)
    draws, scheduled = random.Random(3), time.monotonic()
    for _ in range(requests):
        scheduled += draws.expovariate(1.0 / GAP_S)
        while (pause := scheduled - time.monotonic()) > 0:
            time.sleep(pause)
        os.write(writing, STAMP.pack(time.monotonic_ns()))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
