"""When a host counts as calm, and how many attempts decide a claim. All of it fixed beforehand, each with its reason."""

STEAL_SHARE = 0.005
"""Of any processor in use. Spells of steal last milliseconds and a request waits for all of one: at one in two hundred
they reach p99, which the claims hold to 2 to 10 %."""

FOREIGN_SHARE = 0.02
"""CPU seconds a second of all processes that are none of ours, on whatever processor: they share caches and power, too.
A quiet host of this kind shows 0.5 to 1 % (its kernel threads, its agents); a spinner that takes 10 % of one processor
shows 10."""

COUNTED_TICKS = 2
"""The counters above count in ticks of 10 ms: so many more are allowed, whatever the length of the attempt."""

LOOK_S = 1.0
"""Before an attempt the same counters are read over so long a look, so that none begins in the middle of a spell."""

PATIENCE_S = 15.0
"""So long a claim waits for a calm look ..."""

PATIENCE_OF_ALL_S = 180.0
"""... and so long all claims of a session together: on a host that is never calm the ring ends nevertheless."""

AGREE = 2
"""So many calm attempts must agree: a claim is held or broken by the first two that do, so by two of three at most.

If a calm attempt is wrong with probability e (a true claim missed, or a defect unseen), the decision is wrong with
3 e^2 - 2 e^3: 2.8 % at e = 0.1, 0.7 % at 0.05, 0.03 % at 0.01. Attempts that the host disturbed count neither way."""

TRIES = 5
"""Attempts of a claim, calm or not."""

STALE_RUNS = 10
"""A claim undecided in so many sessions of a history in a row is red: a claim that is never decided is none."""
