"""Targets: how a server under test is described, started, probed and stopped.

``parse_target`` turns a user's TARGET into an `Attached` or a `Managed` server; `ManagedServer` starts the
latter and leaves nothing behind. Names are loaded on first use, so that ``hindmost --help`` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindmost.core.targets.presets import preset, preset_names
    from hindmost.core.targets.probe import first_answering, greet, identify
    from hindmost.core.targets.process import ManagedServer
    from hindmost.core.targets.procfs import cpu_affinity, cpu_seconds, local_owner, process_tree
    from hindmost.core.targets.resolve import Attached, Managed, parse_target
    from hindmost.core.targets.spec import TargetSpec, load_target_file
    from hindmost.core.targets.warden import ExitReport

__all__ = [
    "Attached",
    "ExitReport",
    "Managed",
    "ManagedServer",
    "TargetSpec",
    "cpu_affinity",
    "cpu_seconds",
    "first_answering",
    "greet",
    "identify",
    "load_target_file",
    "local_owner",
    "parse_target",
    "preset",
    "preset_names",
    "process_tree",
]

_HOME = {
    "Attached": "resolve",
    "ExitReport": "warden",
    "Managed": "resolve",
    "ManagedServer": "process",
    "TargetSpec": "spec",
    "cpu_affinity": "procfs",
    "cpu_seconds": "procfs",
    "first_answering": "probe",
    "greet": "probe",
    "identify": "probe",
    "load_target_file": "spec",
    "local_owner": "procfs",
    "parse_target": "resolve",
    "preset": "presets",
    "preset_names": "presets",
    "process_tree": "procfs",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (module attributes have no common type)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
