"""The limits behind verdicts. Every one is a documented constant with its reason."""

LATENESS = 0.10
"""Share of a reported latency quantile that may come from sending late (1 - service quantile / latency
quantile). Beyond it the figure says more about the client than about the server: invalid. The paper asks
that clients add "an approximately constant latency" (Treadmill II-C); a tenth is also the coarsest
precision that anybody asks of a quantile."""

LATENESS_FLOOR_US = 5.0
"""Lateness below this is the noise of a quiet host (an interrupt takes 5 us of a spin), not distortion."""

BUSY_INVALID = 0.80
"""Share of its time a worker may be busy. Treating the worker as an M/D/1 queue, a request waits 2 service
times at 80 %: client-side queueing as large as its own work (Treadmill II-C, Figure 3)."""

BUSY_MIND = 0.50
"""At 50 % the same queue adds half a service time: small, but worth a second instance."""

RATE_SHORTFALL = 0.01
"""Share of the asked rate that may be missing among requests sent and answered, beyond chance."""

ARRIVALS_INVALID, ARRIVALS_MIND = 0.40, 0.15
"""Kolmogorov distance between the gaps of sends and the law asked for. One thread cannot send twice within
one write call, so c microseconds a call at r requests a second make a distance of 1 - exp(-rc): 0.11 at
20,000/s here (5.6 us, measured). That regularity lies far below a server's own queueing; clumps of 1 ms and
more, as other tools send them, come out near 1, and the dispersion of counts sees them, too."""

DISPERSION = 0.05
"""How far the index of dispersion of counts may be from that of the law, beyond three standard errors. Tools
that send in clumps have 4 to 16 where 1 is asked (load-testers notes, section 6)."""

ERROR_INVALID, ERROR_MIND = 0.01, 0.0
"""Share of requests answered with an error. Errors are often faster than answers: one in a hundred already
decides what p99 is about."""

MISS_MIND = 0.01
"""Share of misses that is worth a word: all keys were stored before the load."""

STEAL_INCONCLUSIVE, STEAL_MIND = 0.01, 0.001
"""Share of the time that the hypervisor took. One per cent of stolen time can be all of the slowest 1 %."""

SAMPLES_INCONCLUSIVE, SAMPLES_MIND = 20, 200
"""Requests beyond a quantile in one run of one instance. Below 200 a run's tail quantile is biased
(attribution notes, section 2e); below 20 its own scatter is a fifth of it."""

RUNS_WORTH_ASKING = 100
"""Runs that a hint proposes at most: at ten to twenty seconds each, half an hour."""

NEVER_STEADY = 0.5
"""Share of runs whose warm-up never got steady from which no steady state can be claimed."""

OUT_OF_RANGE = 0.05
"""Share of measured latencies above the calibrated range: the server changed after the calibration. With a
calibration of a twentieth of the measurement, the share expected by chance alone is far below."""

SERVER_FULL = 0.97
"""Share of its processors that a server uses when it has nothing left: queues grow, and the figures depend
on how long one measures."""
