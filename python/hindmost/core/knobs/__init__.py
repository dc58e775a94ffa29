"""Settings: everything that a study varies: how it is checked, set, verified, and restored.

A kind is a file here: settings of the host, options and arguments of the target, where its threads run, what
runs next to it. ``knob_of`` makes a `Knob` from a factor's table in a study file; ``recover`` undoes what a
killed study left.
"""

from hindmost.core.knobs.journal import recover
from hindmost.core.knobs.knob import Knob
from hindmost.core.knobs.leftovers import finding as left_finding
from hindmost.core.knobs.registry import KEYS, KINDS, Kind, kind_of, knob_of

__all__ = ["KEYS", "KINDS", "Kind", "Knob", "kind_of", "knob_of", "left_finding", "recover"]
