"""Calm latency of a run: what its server would do on a processor of its own.

`thefts`: when others had a processor, by the clients' own readings and the sentinel's. `requests`: due and
done times that were kept. `figures`: both and the server's CPU time given to `hindmost.stats.calm_latency`.
`refusal`: why there is none, be it that thefts could not be seen or that statistics refuse.
"""

from hindmost.run.calm.figures import RunCalm, judged, run_calm
from hindmost.run.calm.refusal import Refusal

__all__ = ["Refusal", "RunCalm", "judged", "run_calm"]
