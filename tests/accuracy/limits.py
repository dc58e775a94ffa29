"""When a host counts as calm, and how many attempts decide a claim. All of it fixed beforehand, each with its reason."""

BEARS = 0.02
"""What a claim bears unless it says otherwise: the share of a processor's time that others may take, steal and foreign
processes together. They come in spells of milliseconds, and who is due in one waits for all of it, so a share of s puts
about s of the requests off, and more than the middles at twice as much of a queue.

A claim that names more looks at middles, or leaves disturbed requests out, and says so beside the figure. A quiet host
of this kind shows 0.5 to 1 % (its kernel's threads, its agents), an idle neighbour that is looked at now and then
2 to 4; a spinner that takes 10 % of one processor shows 10."""

BEARS_MORE = 0.05
"""For claims about middles, about ratios far from their limit, and where disturbed requests are left out."""

COUNTED_TICKS = 2
"""The counters above count in ticks of 10 ms: so many more are allowed, whatever the length of the attempt."""

OWN_GAPS = 0.03
"""Share of a spin that a quiet virtual machine takes by its timer alone (250 times a second, 25 to 50 us, which no counter
names), and as much again for the chance of a short look. What a spin misses beyond it counts as taken."""

LOOK_S = 1.0
"""So long both processors are spun on before an attempt, so that none begins in a spell, and after one that missed: a
hypervisor that takes time and says nothing in its counters is seen by that alone."""

PATIENCE_S = 15.0
"""So long a claim waits for a calm look ..."""

PATIENCE_OF_ALL_S = 300.0
"""... and so long all claims of a session together: on a host that is never isolated the suite ends nevertheless."""

AGREE = 2
"""So many calm attempts must agree: a claim is held or broken by the first two that do, so by two of three at most.

If a calm attempt is wrong with probability e (a true claim missed, or a defect unseen), the decision is wrong with
3 e^2 - 2 e^3: 2.8 % at e = 0.1, 0.7 % at 0.05, 0.03 % at 0.01. Attempts that the host disturbed count neither way."""

TRIES = 5
"""Attempts of a claim, calm or not."""
