"""Fitting measured service times to a clone document, with intervals and what remains unknown.

::

 logs --reading--> Log --demand--> service times, gaps
                                    | order (regimes apart)   | pauses: idle -> scope
                                    v                         v
                          choice: bins -> mixture, tail -> replay of held-out samples
                                    | intervals, locks
                                    v
                                 document -> own_load: comparison with the log's latency
"""

from hindmost.commands.clone.fit.account import account
from hindmost.commands.clone.fit.procedure import Fit, fit_clone
from hindmost.commands.clone.fit.reading import Log, read_log, read_logs

__all__ = ["Fit", "Log", "account", "fit_clone", "read_log", "read_logs"]
