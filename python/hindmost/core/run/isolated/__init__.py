"""Isolated latency of a run: what its server would do with its CPUs to itself.

`interruptions`: when others used a CPU, as seen by the clients and the sentinel. `requests`: scheduled and
completed times of sampled requests. `figures`: passes both and the server's CPU
time to `hindmost.stats.isolated_latency`.
`refusal`: why there is no estimate: interference could not be observed, or the statistics refuse.
"""

from hindmost.core.run.isolated.figures import RunIsolated, find_refusal, run_isolated
from hindmost.core.run.isolated.refusal import Refusal

__all__ = ["Refusal", "RunIsolated", "find_refusal", "run_isolated"]
