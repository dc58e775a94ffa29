"""Hindmost: a laboratory for tail latency.

Names are loaded when first used, so that ``hindmost --help`` and load agents start fast.
"""

from __future__ import annotations

__version__ = "0.1.0"
