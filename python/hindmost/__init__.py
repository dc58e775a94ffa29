"""Hindmost: a laboratory for tail latency.

The public interface. Each name is imported when it is first used, so that ``hindmost --help`` and load
clients start fast.

=====================  ======================================================================
measuring              `measure`, `attribute`, `compare`, `explain`, `open_study`: each gives a `Result`;
                       `list_studies`
clones of servers      `synth` (fit, simulate, sweep, serve, verify), `Clone`, `load_clone`
parts of these         `MeasureRequest`, `MeasurePlan`, `parse_target`, `Study`, `Procedure`, `answer`,
                       `render_terminal`, `render_page`; `read_log`, `fit_clone`, `simulate`, `sweep`, `Vary`
statistics             `Histogram`, `mean_interval`, `Estimate`
errors                 `HindmostError` and its subclasses, in `hindmost.errors`
=====================  ======================================================================

Examples
--------
A histogram also counts requests that were never answered. Their latency counts as infinite.

>>> import hindmost
>>> latencies = hindmost.Histogram()
>>> latencies.record(31_000, 98)
>>> latencies.add_censored(2)
>>> round(latencies.quantile(0.95) / 1000), latencies.quantile(0.99)
(31, inf)

The run is the statistical unit, so an interval is computed from one value per run:

>>> print(hindmost.mean_interval([30.1, 31.0, 30.4, 30.9, 30.6, 30.2]))
30.53 [30.15, 30.95] (95 %, n=6)

A clone predicts the latency of a server under loads and changes that were never measured:

>>> silo = hindmost.load_clone("silo")
>>> found = hindmost.sweep(silo, [hindmost.Vary("threads", (1, 2))], [{"rate_per_s": 30_000.0}])
>>> [point.latency_us["p99"].value < 60.0 for point in found.points]
[False, True]

Measure a server, and read the stored study again later::

    found = hindmost.measure("memcached://127.0.0.1:11211", rate=50_000)
    found.verdict, found.latency, found.runs, found.requests(), found.plot()
    hindmost.open_study(found.study).save("page.html")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindmost import clone
    from hindmost._engine import Histogram, __version__
    from hindmost.commands.attribute.api import attribute
    from hindmost.commands.clone.document import Clone, load_clone
    from hindmost.commands.clone.fit import fit_clone, read_log
    from hindmost.commands.clone.parameters import Vary
    from hindmost.commands.clone.simulation import simulate
    from hindmost.commands.clone.sweep import sweep
    from hindmost.commands.compare.api import compare
    from hindmost.commands.explain.api import explain
    from hindmost.commands.measure.answer import answer
    from hindmost.commands.measure.api import measure
    from hindmost.commands.measure.procedure import Procedure
    from hindmost.commands.measure.view import render_page, render_terminal
    from hindmost.commands.study.api import list_studies, open_study
    from hindmost.core.plan import MeasurePlan
    from hindmost.core.results.result import Result
    from hindmost.core.run.request import MeasureRequest
    from hindmost.core.store import Study
    from hindmost.core.targets import parse_target
    from hindmost.errors import HindmostError
    from hindmost.stats import Estimate, mean_interval

__all__ = [
    "Clone",
    "Estimate",
    "HindmostError",
    "Histogram",
    "MeasurePlan",
    "MeasureRequest",
    "Procedure",
    "Result",
    "Study",
    "Vary",
    "__version__",
    "answer",
    "attribute",
    "clone",
    "compare",
    "explain",
    "fit_clone",
    "list_studies",
    "load_clone",
    "mean_interval",
    "measure",
    "open_study",
    "parse_target",
    "read_log",
    "render_page",
    "render_terminal",
    "simulate",
    "sweep",
]

_HOME = {
    "__version__": "_engine",
    "Clone": "commands.clone.document",
    "Estimate": "stats",
    "HindmostError": "errors",
    "Histogram": "_engine",
    "MeasurePlan": "core.plan",
    "MeasureRequest": "core.run.request",
    "Procedure": "commands.measure.procedure",
    "Result": "core.results.result",
    "Study": "core.store",
    "Vary": "commands.clone.parameters",
    "answer": "commands.measure.answer",
    "attribute": "commands.attribute.api",
    "compare": "commands.compare.api",
    "explain": "commands.explain.api",
    "fit_clone": "commands.clone.fit",
    "list_studies": "commands.study.api",
    "load_clone": "commands.clone.document",
    "mean_interval": "stats",
    "measure": "commands.measure.api",
    "open_study": "commands.study.api",
    "parse_target": "core.targets",
    "read_log": "commands.clone.fit",
    "render_page": "commands.measure.view",
    "render_terminal": "commands.measure.view",
    "simulate": "commands.clone.simulation",
    "sweep": "commands.clone.sweep",
    "clone": "clone",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (module attributes have no common type)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOME[name]}")
    return home if name == _HOME[name] else getattr(home, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
