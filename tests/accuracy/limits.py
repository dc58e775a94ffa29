"""When a host counts as quiet, and how many attempts decide a claim. All limits are fixed in advance, with reasons."""

MAX_INTERFERENCE = 0.02
"""Default share of a CPU's time that interference (steal time and foreign processes together) may take in an attempt.

Interruptions last milliseconds, and a request that is scheduled during one waits until its end. So a share of s delays
about s of the requests, and at twice the load of a queue it delays more of them.

A claim with a larger limit compares medians or excludes disturbed requests, and its figure says so. A quiet host of
this kind shows 0.5 to 1 % (kernel threads, agents). An idle neighbour that is checked now and then shows 2 to 4 %, and
a spinner that uses 10 % of one CPU shows 10 %."""

MAX_INTERFERENCE_LOOSE = 0.05
"""For claims about medians, about ratios far from their limit, and where disturbed requests are excluded."""

COUNTED_TICKS = 2
"""The counters count in ticks of 10 ms; this many more are allowed, however long the attempt."""

OWN_GAPS = 0.03
"""Share of a spin that the timer of a quiet virtual machine takes (250 times a second, 25 to 50 us, in no counter),
doubled because a check is short. Time that a spin loses beyond this counts as interference."""

CHECK_S = 1.0
"""Both CPUs spin for this long before an attempt, so that none begins during an interruption, and after a miss. Only
this detects a hypervisor that takes time without counting it as steal time."""

MAX_WAIT_S = 15.0
"""How long a claim waits for a quiet host."""

MAX_WAIT_ALL_S = 300.0
"""How long all claims of a session wait together, so that the suite ends on a host that is never quiet."""

AGREEING = 2
"""Attempts on a quiet host that must agree: the first two that do decide a claim, so three are enough.

If an attempt is wrong with probability e (a true claim missed, or a defect not seen), the decision is wrong with
probability 3 e^2 - 2 e^3: 2.8 % at e = 0.1, 0.7 % at 0.05, 0.03 % at 0.01. Disturbed attempts do not count."""

TRIES = 5
"""Most attempts at a claim, whether or not they count."""
