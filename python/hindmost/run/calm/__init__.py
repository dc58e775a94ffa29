"""Isolated latency of a run: what its server would do with its CPUs to itself.

`thefts`: when others used a CPU, as seen by the clients and the sentinel. `requests`: scheduled and completed
times of sampled requests. `figures`: passes both and the server's CPU
time to `hindmost.stats.isolated_latency`.
`refusal`: why there is no estimate: interference could not be observed, or the statistics refuse.
"""

from hindmost.run.calm.figures import RunCalm, find_refusal, run_calm
from hindmost.run.calm.refusal import Refusal

__all__ = ["Refusal", "RunCalm", "find_refusal", "run_calm"]
