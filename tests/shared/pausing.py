"""Logs of a queue whose services have pauses: of the thread, by the clock, or inside requests."""

from __future__ import annotations

import numpy as np

from hindmost.commands.clone.fit import Log


def queue_with_pauses(
    whom, seed, *, n=12_000, load=0.5, pause_us=10_000.0, share=0.002, spread=0.0, threads=1, waits=(0.0, 0.0)
):
    """The log of a FCFS queue with services of 100 us, in which pauses of 10 ms hit one service in 500.

    ``request``: the service pauses. ``clock``: threads stop at random times, whatever they are doing.
    ``waits``: in addition, this share of services waits for this many us. A request that finds a thread idle first
    wakes it up, which takes about 3 us.
    """
    draws = np.random.default_rng(seed)
    service = draws.lognormal(np.log(100.0) - 0.125, 0.5, n)
    arrival = np.cumsum(draws.exponential(100.0 / load / threads, n))
    every = 100.0 / share

    def stop(after):
        """Begin and end of the next pause of a thread."""
        begin = after + (draws.exponential(every) if whom == "clock" else np.inf)
        return begin, begin + length()

    def length():
        return pause_us * draws.lognormal(-spread * spread / 2, spread)

    stops = [stop(0.0) for _ in range(threads)]
    wall, start, thread = service.copy(), np.zeros(n), np.zeros(n, dtype=np.int64)
    if whom == "request":
        wall += [length() if draw < share else 0.0 for draw in draws.random(n)]
    wall += np.where(draws.random(n) < waits[0], waits[1], 0.0)
    free, arrivals = [0.0] * threads, arrival.tolist()
    for i in range(n):
        ready = [max(moment, arrivals[i]) for moment in free]
        for t in range(threads):
            while stops[t][1] <= ready[t]:
                stops[t] = stop(stops[t][1])
            if stops[t][0] <= ready[t]:  # the thread is paused while idle
                ready[t] = stops[t][1]
        t = thread[i] = ready.index(min(ready))
        begin = start[i] = ready[t] + (draws.exponential(3.0) if arrivals[i] > free[t] else 0.0)
        end = begin + float(wall[i])
        while stops[t][1] <= begin:
            stops[t] = stop(stops[t][1])
        while stops[t][0] < end:
            pause = stops[t][1] - stops[t][0]
            wall[i], end = wall[i] + pause, end + pause
            stops[t] = stop(stops[t][1])
        free[t] = end
    order = np.argsort(start, kind="stable")
    first = start[order][0]
    return Log(
        f"{whom}.csv",
        "0" * 64,
        "end_ns - start_ns",
        wall[order],
        cpu_us=service[order],
        start_us=start[order] - first,
        arrival_us=arrival[order] - first,
        thread=thread[order] if threads > 1 else None,
    )
