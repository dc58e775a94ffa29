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
>>> [point["latency_us"]["p99"]["value"] < 60.0 for point in found["points"]]
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
    from hindmost.errors import HindmostError
    from hindmost.explain.result import explain
    from hindmost.models import Clone, load_clone
    from hindmost.models.fit import fit_clone, read_log
    from hindmost.models.parameters import Vary
    from hindmost.models.simulation import simulate
    from hindmost.models.sweep import sweep
    from hindmost.plan import MeasurePlan
    from hindmost.report.measure import render_page, render_terminal
    from hindmost.results import Result, attribute, compare, list_studies, measure, open_study
    from hindmost.run.request import MeasureRequest
    from hindmost.stats import Estimate, mean_interval
    from hindmost.store import Study
    from hindmost.studies.measure.answer import answer
    from hindmost.studies.measure.procedure import Procedure
    from hindmost.targets import parse_target

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
    "Clone": "models",
    "Estimate": "stats",
    "HindmostError": "errors",
    "Histogram": "_engine",
    "MeasurePlan": "plan",
    "MeasureRequest": "run.request",
    "Procedure": "studies.measure.procedure",
    "Result": "results",
    "Study": "store",
    "Vary": "models.parameters",
    "answer": "studies.measure.answer",
    "attribute": "results",
    "compare": "results",
    "explain": "explain.result",
    "fit_clone": "models.fit",
    "list_studies": "results",
    "load_clone": "models",
    "mean_interval": "stats",
    "measure": "results",
    "open_study": "results",
    "parse_target": "targets",
    "read_log": "models.fit",
    "render_page": "report.measure",
    "render_terminal": "report.measure",
    "simulate": "models.simulation",
    "sweep": "models.sweep",
    "clone": "clone",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (module attributes have no common type)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOME[name]}")
    return home if name == _HOME[name] else getattr(home, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
