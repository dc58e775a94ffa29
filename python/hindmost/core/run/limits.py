"""The limits behind verdicts: documented constants, each with its reason."""

LATENESS = 0.10
"""Share of a reported latency quantile that may come from sending late (1 - service quantile / latency
quantile). Beyond it the figure says more about the client than about the server: invalid. The paper requires
that clients add "an approximately constant latency" (Treadmill II-C); a tenth is also the coarsest precision
in use."""

LATENESS_FLOOR_US = 5.0
"""Lateness below this is the noise of a quiet host (an interrupt takes 5 us of a spin), not distortion."""

BUSY_INVALID = 0.80
"""Share of its time a worker may be busy. If the worker is an M/D/1 queue, a request waits 2 service times at
80 %: client-side queueing as large as its own work (Treadmill II-C, Figure 3)."""

BUSY_MIND = 0.50
"""At 50 % the same queue adds half a service time: small, but worth a second client."""

RATE_SHORTFALL = 0.01
"""Share of the requested rate that may be missing beyond random variation."""

SHORT_RUNS = 3
"""Stop after this many runs if all fell short of the requested rate. A server that cannot carry a rate three
times does not carry it the tenth time."""

SHARES_CHANCE = 1e-6
"""Probability, over a study, below which uneven shares of connections are not considered random. One study in
a million raises a false alarm, and one starved connection in a hundred is found within seconds."""

ARRIVALS_INVALID, ARRIVALS_MIND = 0.40, 0.15
"""Kolmogorov distance between the gaps of sends and the requested law. One thread cannot send twice within
one write call, so c microseconds per call at r requests per second make a distance of 1 - exp(-rc): 0.11 at
20,000 requests/s here (5.6 us, measured). That regularity lies far below a server's own queueing. Bursts of
1 ms and more, as other tools send them, have distances near 1, and also show in the dispersion of counts."""

DISPERSION = 0.05
"""How far the index of dispersion of counts may be from the law's, beyond three standard errors. Tools that
send in bursts have 4 to 16 where 1 is requested (load-testers notes, section 6). For a law with more variable
counts than a Poisson process, this is a share of the law's index."""

SCHEDULED_GAPS_ERRORS, SCHEDULED_GAPS = 5.0, 0.02
"""How far C^2 of the gaps between scheduled times may be from the law's: five of its standard errors, which
follow from the law, and 2 % for the histogram's bins and for gaps cut off at the ends of the measurement."""

ERROR_INCONCLUSIVE, ERROR_MIND = 0.01, 0.0
"""Share of requests answered with an error. Errors are often faster than successful replies: one in a hundred
already determines what p99 measures."""

MISS_MIND = 0.01
"""Share of misses that deserves a note: all keys were stored before the load."""

STEAL_INCONCLUSIVE, STEAL_MIND = 0.01, 0.001
"""Share of the time that the hypervisor took. One per cent of steal time can be all of the slowest 1 %."""

DELAYED = 0.005
"""Share of the time that others had the client's CPU, above which a run is excluded. They had the server's
CPU at other times, so this can be all of the slowest 1 %. A kernel thread that wakes up now and then uses 0.3
% if it finds both CPUs busy."""

AWAY, AWAY_US = 0.01, 20.0
"""Share of requests that a spinning client sent late because its CPU was taken, and its send delay at p99
beyond that of its write calls: a run that exceeds both is excluded. One in a hundred is all of the slowest
1 %. An interrupt takes about 5 µs; 20 µs or more is another program or the hypervisor."""

REMAKE, ATTEMPTS = 0.5, 3
"""Repeats of excluded runs (``--remake``): at most half as many as the requested runs, and each run at most
twice. A host that disturbs every third run is the wrong host for this question."""

TAIL_INCONCLUSIVE, TAIL_MIND = 1.0, 0.1
"""Accidents (waits for a CPU, retransmitted segments) per request beyond a quantile. If one request in a
hundred meets an accident, accidents can be all of what lies beyond p99, and the figure is about them:
inconclusive. A tenth of that moves the quantile's rank by a tenth of its distance from 1, the coarsest
precision in use. Requests scheduled at random meet accidents in proportion to their duration (Wolff, 1982:
Poisson arrivals see time averages)."""

NEIGHBOURS = 0.05
"""Share of the server's CPUs that other programs may use at normal priority. The kernel divides a CPU by
demand, so this does not count as interference, and isolated latency would include its cost. Tick accounting
resolves about 1 % in ten seconds (2,500 samples at 250 Hz)."""

DOUBT = 0.1
"""How much an isolated quantile may depend on which of a sentinel's own waits were interference. A sentinel
without real-time priority waits behind the server and cannot know; the truth lies between all and none."""

SWITCHES_MIND = 100.0
"""How often per second a spinning worker may be preempted. Each time costs two context switches and a cold
first-level cache, about 5 us (Li, Ding and Shen, 2007: 4 us and more with 32 KiB to refill). One request of
50 us in 200 meets one of these: half of the slowest 1 %."""

INTERRUPT_US = 5.0
INTERRUPTS_MIND = 2000.0
"""Interrupts per second on a client's CPU. One takes about 5 us of a spin (measured; `hindmost host doctor`
shows this host's gaps), so 2,000 per second take 1 % of the time. The timer alone makes 100 to 1,000
(CONFIG_HZ)."""

RETRANSMIT_MS = 200.0
"""The least cost of a lost segment if nothing follows it: Linux's minimum retransmission timeout
(TCP_RTO_MIN; RFC 6298 asks for 1 s). It exceeds any healthy server's latency, so the check counts the
requests that meet it rather than its length."""

DROPS_MIND = 0
"""Connections that the server's kernel dropped because its accept queue was full. Each is retried after 1 s
(RFC 6298, section 2), so any deserves a note."""

BLOCKED_MIND = 0.01
"""Share of requests that the kernel's send buffer did not accept. They wait in our memory, with all later
requests on that connection. One in a hundred can be the slowest 1 %."""

RECEIVE_FILL_MIND = 0.5
"""How full a receive buffer was when it was read. Bookkeeping takes up to half of the memory
(`tcp_adv_win_scale`, tcp(7)), so at half the window is closed, and the server waits for the client."""

PEER_FULL_MIND = 0.01
"""Share of the measurement in which a connection could not send because the server's receive buffer was full:
it reads more slowly than requests arrive."""

THROTTLED_MIND, THROTTLED_INCONCLUSIVE = 0, 0.01
"""Share of a quota's periods (100 ms each by default) in which the cgroup was throttled. All requests
scheduled in the rest of such a period wait for its end; at one period in a hundred they can be all of it."""

SAMPLES_INCONCLUSIVE, SAMPLES_MIND = 20, 200
"""Requests beyond a quantile in one run of one client. Below 200 a run's tail quantile is biased (attribution
notes, section 2e); below 20 its own standard deviation is a fifth of it."""

RUNS_WORTH_ASKING = 100
"""Most runs that a hint proposes: at 10 to 20 s each, half an hour."""

NEVER_STEADY = 0.5
"""Share of runs with an unsteady warm-up above which no steady state can be claimed."""

OUT_OF_RANGE = 0.05
"""Share of measured latencies above the calibrated range: the server changed after the calibration. With a
calibration of a twentieth of the measurement, the share expected at random is far below."""

SERVER_FULL = 0.97
"""CPU use of a saturated server, as a share of its CPUs: queues grow, and the figures depend on the duration
of the measurement."""

WIRE_CONSTANCY_US = 1.0
"""How far wire latency minus the captured latency may vary, from p50 to p99.9. Both are stamps of the kernel,
taken a few hundred nanoseconds apart; only what runs between them varies."""

SERVICE_CONSTANCY_US = 2.0
"""The same for service latency, p50 to p99: write call, poll and read call, which an idle client makes in a
few microseconds. Treadmill's clients add about 30 us at all percentiles (III-C, Figures 5 and 6)."""
CHANNEL_WAKEUPS_PER_S = 20.0
"""Wake-ups per second of the process that speaks with the controller while its host measures. Ours wakes one
to four times per second (`benches/fleet.py`); a Dask worker with default settings 90 times."""

CUT_SESSIONS = 0.01
"""Share of sessions cut off by the end from which a note says so: p99 is then unknown."""
