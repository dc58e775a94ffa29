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

SHORT_RUNS = 3
"""So many runs that all fell short of the asked rate, and no more: a rate that a server does not carry it
does not carry the tenth time either."""

SHARES_CHANCE = 1e-6
"""Probability, over a study, below which uneven shares of connections are not taken for chance: with it one
study in a million cries wolf, and one connection in a hundred left out is found within seconds."""

ARRIVALS_INVALID, ARRIVALS_MIND = 0.40, 0.15
"""Kolmogorov distance between the gaps of sends and the law asked for. One thread cannot send twice within
one write call, so c microseconds a call at r requests a second make a distance of 1 - exp(-rc): 0.11 at
20,000/s here (5.6 us, measured). That regularity lies far below a server's own queueing; clumps of 1 ms and
more, as other tools send them, come out near 1, and the dispersion of counts sees them, too."""

DISPERSION = 0.05
"""How far the index of dispersion of counts may be from that of the law, beyond three standard errors. Tools
that send in clumps have 4 to 16 where 1 is asked (load-testers notes, section 6). Of a law whose counts
scatter more than those of a Poisson process it is a share of what is asked."""

DUE_GAPS_ERRORS, DUE_GAPS = 5.0, 0.02
"""How far C^2 of the gaps between due times may be from that of the law: five of its standard errors, which
follow from the law, and a fiftieth for the histogram's bins and for gaps that the measurement cuts off."""

ERROR_INCONCLUSIVE, ERROR_MIND = 0.01, 0.0
"""Share of requests answered with an error. Errors are often faster than answers: one in a hundred already
decides what p99 is about."""

MISS_MIND = 0.01
"""Share of misses that is worth a word: all keys were stored before the load."""

STEAL_INCONCLUSIVE, STEAL_MIND = 0.01, 0.001
"""Share of the time that the hypervisor took. One per cent of stolen time can be all of the slowest 1 %."""

DELAYED = 0.005
"""Share of the time that others had the client's processor, above which a run is not sound: whoever had it
had the server's at other times, so that this is all of the slowest 1 %. A kernel thread that wakes up now
and then takes 0.3 % where it finds both processors busy."""

AWAY, AWAY_US = 0.01, 20.0
"""Share of requests that a spinning client sent late because its processor was away, and its send delay at
p99 beyond that of its write calls: a run with more of both is excluded. One in a hundred is all of the
slowest 1 %. An interrupt takes about 5 µs; 20 µs or more are another program or the hypervisor."""

REMAKE, ATTEMPTS = 0.5, 3
"""Runs that may be made again because they were not sound (``--remake``): half as many as were asked for, and
each of them twice. A host that disturbs every third run is not the host for this question."""

TAIL_INCONCLUSIVE, TAIL_MIND = 1.0, 0.1
"""Accidents (waits for a processor, segments sent again) per request beyond a quantile. Where one request in
a hundred meets an accident, accidents can be all of what lies beyond p99, and the figure is about them:
inconclusive. A tenth of that moves the quantile's rank by a tenth of its distance from 1, which is as
coarse as anybody asks. Requests due at random meet an accident as often as it takes time (Wolff, 1982:
Poisson arrivals see time averages)."""

NEIGHBOURS = 0.05
"""Share of the server's processors that programs may have at usual priority next to it. The kernel shares a
processor by what each does, so that these are no thefts, and calm latency would keep what they cost. Ticks
tell it to some 1 % in ten seconds (2,500 looks at 250 Hz)."""

DOUBT = 0.1
"""By how much a calm quantile may depend on which of a sentinel's own waits were thefts. A sentinel without
real-time priority waits behind the server and cannot know; the truth lies between all of them and none."""

SWITCHES_MIND = 100.0
"""Times a second that a spinning worker is taken off its processor. Each costs two context switches and a
cold first-level cache, some 5 us (Li, Ding and Shen, 2007: 4 us and more with 32 KiB to refill); a request
of 50 us meets one in 200 of these: half of the slowest 1 %."""

INTERRUPT_US = 5.0
INTERRUPTS_MIND = 2000.0
"""Interrupts a second on a client's processor. One takes some 5 us of a spin (measured; `hindmost host
doctor` shows this host's gaps), so 2,000 a second take 1 % of the time. The timer alone makes 100 to 1,000
(CONFIG_HZ)."""

RETRANSMIT_MS = 200.0
"""What a lost segment costs at least where nothing follows it: the least retransmission timeout of Linux
(TCP_RTO_MIN; RFC 6298 asks for 1 s). More than any server in health, so the wait is judged by how many
requests meet it, not by how long it is."""

DROPS_MIND = 0
"""Connections that the server's kernel dropped because its accept queue was full: each is tried again after
1 s (RFC 6298, section 2), so any is worth a word."""

BLOCKED_MIND = 0.01
"""Share of requests whose write the kernel's send buffer did not take: they wait in our memory, with all
that are sent after them on that connection. One in a hundred can be the slowest 1 %."""

RECEIVE_FILL_MIND = 0.5
"""Share of a receive buffer that had piled up when it was read. Bookkeeping takes up to half of the memory
(`tcp_adv_win_scale`, tcp(7)), so at half the window is closed, and the server waits for the client."""

PEER_FULL_MIND = 0.01
"""Share of the measurement in which a connection could not send because the server's receive buffer was
full: it reads more slowly than requests come."""

THROTTLED_MIND, THROTTLED_INCONCLUSIVE = 0, 0.01
"""Share of a quota's periods (100 ms each by default) in which the control group was stopped. All requests
due in the rest of such a period wait for its end; at one period in a hundred they can be the slowest 1 %."""

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

WIRE_CONSTANCY_US = 1.0
"""How far wire latency less what a packet capture saw may be from one constant, p50 to p99.9. Both are stamps
of the kernel, taken some hundred nanoseconds apart; what varies is what runs in between."""

SERVICE_CONSTANCY_US = 2.0
"""The same for service latency, p50 to p99: write call, look and read call, which a client with nothing else
to do makes in some microseconds. Treadmill's clients add about 30 us, at all percentiles alike (III-C,
Figures 5 and 6)."""
CHANNEL_WAKEUPS_PER_S = 20.0
"""Of the process that speaks with the controller while its host measures. Ours wakes one to four times a
second (`benches/fleet.py`); a Dask worker with its defaults 90 times."""
