"""Clones of servers, from Python: fit, simulate, sweep, serve and verify them.

These functions do what the subcommands of ``hindmost clone`` do. ``import hindmost`` makes this module
available as ``hindmost.clone``.

Examples
--------
>>> import hindmost
>>> found = hindmost.clone.sweep("xapian", find="p99<10ms", by="threads", rate=2_000, requests=20_000)
>>> found.verdict, found.document.found[0].side
('found', 'at_least')
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast
from urllib.parse import quote

from hindmost.commands.clone.document import Clone, load_clone
from hindmost.commands.clone.fit import Log, account, fit_clone, read_log
from hindmost.commands.clone.fit.reading import Source, as_logs, read_logs
from hindmost.commands.clone.parameters import Value, Vary, parse_vary
from hindmost.commands.clone.questions import check_counts, parse_load, sweep_from_text
from hindmost.commands.clone.results.fit import FitResult
from hindmost.commands.clone.results.prediction import SimulationResult, SweepResult
from hindmost.commands.clone.simulation import Design, simulation_document
from hindmost.commands.compare.clone import open_new
from hindmost.commands.compare.result import VerificationResult
from hindmost.core.frames import Library
from hindmost.core.plan.units import parse_quantiles
from hindmost.core.results.call import restored_affinity
from hindmost.core.study.callback import CallbackProgress, ProgressFunction
from hindmost.core.study.kind import carry_out, kind_of
from hindmost.core.targets import Managed, ManagedServer, parse_target

__all__ = ["Serving", "fit", "serve", "simulate", "sweep", "verify"]

Amount = str | float
"""A rate (``2_000`` or ``"2k"``) or a share (``0.7`` or ``"70%"``)."""
Arrivals = Literal["exponential", "deterministic"]


def fit(
    *logs: Log | Source,
    column: str | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    threads: int | None = None,
    demand: Literal["auto", "cpu", "wall"] = "auto",
    same_host: bool = False,
    name: str | None = None,
    frames: Library | None = None,
) -> FitResult:
    """Fit a clone to measured service times, as ``hindmost clone fit`` does.

    Parameters
    ----------
    *logs : str, Path, DataFrame, array or Log
        Logs of a server at several loads, or of 1, 2 and 4 threads; studies; or times alone.
    column, unit : str, optional
        The column of times and its unit, if a log does not state them.
    threads : int, optional
        Worker threads of the clone; by default those in the log.
    demand : {"auto", "cpu", "wall"}
        Whether demand is the CPU time or the wall-clock time in a server's log.
    same_host : bool
        Whether the clone will run on the host where the log was made. If so, host interference is left out.
    name : str, optional
        The name of the original.
    frames
        As for `hindmost.measure`.

    Raises
    ------
    UsageError, Inconclusive
        As for `hindmost.fit_clone`.

    Examples
    --------
    >>> import numpy as np, hindmost
    >>> times = np.random.default_rng(1).lognormal(4.0, 0.5, 5_000)
    >>> found = hindmost.clone.fit(times, unit="us", name="mine")
    >>> found.clone.name, 55 < found.clone.mean_busy_us < 70
    ('mine', True)
    """
    read: Sequence[Log]
    way: Path | None = None
    if column is None and unit is None:
        read, way = as_logs(logs)
    elif all(isinstance(one, (str, Path)) for one in logs):
        read, way = read_logs([Path(cast("str | Path", one)) for one in logs], column, unit)
    else:
        read = [one if isinstance(one, Log) else read_log(one, column, unit) for one in logs]
    found = fit_clone(*read, name=name, threads=threads, of=demand, disturbed=not same_host, way=way)
    return FitResult(account(found), found.clone, frames=frames)


def simulate(
    clone: Clone | str | Path,
    *,
    rate: Amount | None = None,
    utilisation: Amount | None = None,
    arrivals: Arrivals = "exponential",
    threads: int | None = None,
    quantiles: str = "50,95,99,99.9",
    requests: int = 1_000_000,
    seed: int = 1,
    backlog: bool = False,
    frames: Library | None = None,
) -> SimulationResult:
    """Predict the latency of a clone at one load, as ``hindmost clone simulate`` does.

    Parameters
    ----------
    clone : Clone, str or Path
        A clone, the file of a document, or the name of an application.
    rate, utilisation : float or str, optional
        Requests per second, or a share of the capacity (by default 70 %).
    arrivals, threads, quantiles, requests, seed, backlog
        As the options of ``hindmost clone simulate``.

    Raises
    ------
    UsageError
        An argument is not valid, or more requests would arrive than the clone can serve.

    Examples
    --------
    >>> import hindmost
    >>> found = hindmost.clone.simulate("silo", utilisation=0.5, requests=20_000)
    >>> list(found.latency.columns)
    ['quantile', 'value', 'low', 'high']
    """
    check_counts(requests, seed)
    loaded = _load(clone, threads)
    load = parse_load(_as_text(rate), _as_text(utilisation))
    design = Design(
        requests=requests, seed=seed, arrivals=arrivals, quantiles=parse_quantiles(quantiles), backlog=backlog
    )
    return SimulationResult(simulation_document(loaded, load, design), frames=frames)


def sweep(
    clone: Clone | str | Path,
    vary: Mapping[str, Sequence[Value]] | Sequence[Vary | str] = (),
    *,
    together: bool = False,
    rate: Amount | Sequence[Amount] | None = None,
    utilisation: Amount | Sequence[Amount] | None = None,
    arrivals: Arrivals = "exponential",
    find: str | None = None,
    by: str | None = None,
    between: tuple[float, float] | str | None = None,
    requests: int = 100_000,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
    frames: Library | None = None,
) -> SweepResult:
    """Predict latency against load for many designs of a clone, as ``hindmost clone sweep`` does.

    Parameters
    ----------
    clone : Clone, str or Path
        As for `simulate`.
    vary : mapping, or sequence of Vary or str
        Parameters and their values: ``{"threads": (1, 2, 4)}``, or ``["threads=1,2,4"]``.
    together : bool
        Change the parameters together, instead of in all combinations.
    rate, utilisation : float, str, or sequence of them, optional
        Loads: ``[1_000, 2_000]`` or ``"1k..9k:5"``; shares of the capacity, by default 10 % to 90 %.
    find, by, between : optional
        Search for the last value of a parameter at which an objective is met: ``find="p99<500us"``.
    progress : callable, optional
        Called with the number of points that are done, and the number of all points.
    arrivals, requests, seed
        As the options of ``hindmost clone sweep``.

    Raises
    ------
    UsageError
        An argument is not valid.
    """
    check_counts(requests, seed)
    if isinstance(vary, Mapping):
        varied = [Vary(path, tuple(values)) for path, values in vary.items()]
    else:
        varied = [one if isinstance(one, Vary) else parse_vary(one) for one in vary]
    document = sweep_from_text(
        _load(clone, None),
        varied,
        together=together,
        rate=_as_text(rate),
        utilisation=_as_text(utilisation),
        find=find,
        by=by,
        between=between if between is None or isinstance(between, str) else "..".join(map(str, between)),
        design=Design(requests=requests, seed=seed, arrivals=arrivals),
        progress=progress,
    )
    return SweepResult(document, frames=frames)


def verify(
    clone: Clone | str | Path,
    original: str | Path,
    *,
    threads: int | None = None,
    loads: str = "20%,50%,70%",
    logged: Sequence[str | Path] = (),
    pairs: int = 6,
    occupy: Literal["wall", "cpu"] = "cpu",
    out: str | Path | None = None,
    progress: ProgressFunction | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (options of measure)
) -> VerificationResult:
    """Show whether a clone is as slow as its original, as ``hindmost compare --clone`` does.

    Parameters
    ----------
    clone : Clone, str or Path
        As for `simulate`.
    original : str or Path
        The server that was cloned: a preset, or a target file that starts it.
    loads : str
        Shares of the clone's capacity.
    logged : sequence of str or Path
        Studies in which the logs for the clone were made.
    pairs : int
        Pairs of runs at each load.
    **options
        Options of `hindmost.measure` for each run: ``duration`` ("5s"), ``warmup`` ("1s"), ``connections``
        (16), ``server_cpus``, ``seed``, ``remake``.
    out, progress, frames
        As for `hindmost.measure`.

    Raises
    ------
    HindmostError
        As for `hindmost.measure`.
    """
    folder = None if out is None else Path(out)
    with restored_affinity():
        study = open_new(
            clone,
            str(original),
            threads=threads,
            loads=loads,
            logged=[Path(one) for one in logged] or None,
            pairs=pairs,
            occupy=occupy,
            out=folder,
            **{"duration": "5s", "warmup": "1s", "connections": 16, "remake": "50%", **options},
        )
        shown = carry_out(study, CallbackProgress(progress))
    return cast("VerificationResult", kind_of(study).result(shown.answer, study.folder, frames=frames))


@dataclass(frozen=True, slots=True)
class Serving:
    """A running clone that serves requests.

    Attributes
    ----------
    target : str
        The argument for `hindmost.measure`: ``memcached://127.0.0.1:20417``.
    address : str
        ``HOST:PORT``, for any other client.
    """

    target: str
    address: str


@contextmanager
def serve(
    clone: Clone | str | Path,
    *,
    protocol: Literal["memcached", "http"] = "memcached",
    threads: int | None = None,
    cpus: Sequence[int] | None = None,
    idle: Literal["block", "spin"] = "block",
    occupy: Literal["wall", "cpu"] = "wall",
    seed: int = 1,
) -> Iterator[Serving]:
    """Serve a clone in a separate process, on a free port, until the ``with`` block ends.

    Parameters
    ----------
    clone : Clone, str or Path
        As for `simulate`.
    cpus : sequence of int, optional
        Its processors.
    protocol, threads, idle, occupy, seed
        As the options of ``hindmost clone serve``.

    Raises
    ------
    TargetError
        The clone cannot be started.

    Examples
    --------
    >>> import hindmost
    >>> with hindmost.clone.serve("silo", protocol="http") as server:  # doctest: +SKIP
    ...     hindmost.measure(server.target, rate="5k")
    """
    document = _load(clone, threads)
    with TemporaryDirectory(prefix="hindmost-") as folder:
        file = Path(folder) / "clone.json"
        file.write_text(json.dumps(document.document), encoding="utf-8")
        options = f"protocol={protocol}&idle={idle}&occupy={occupy}&seed={seed}"
        target = parse_target(f"synth?clone={quote(str(file))}&{options}")
        assert isinstance(target, Managed), "a preset"
        with ManagedServer(target.spec, cpus=cpus) as server:
            yield Serving(f"{protocol}://{server.address}", server.address)


def _load(clone: Clone | str | Path, threads: int | None) -> Clone:
    loaded = clone if isinstance(clone, Clone) else load_clone(clone)
    return loaded if threads is None else loaded.with_changes(threads=threads)


def _as_text(amount: Amount | Sequence[Amount] | None) -> str | None:
    """Write a number, or a list of them, as on the command line."""
    if amount is None or isinstance(amount, str):
        return amount
    if isinstance(amount, Sequence):
        return ",".join(str(one) for one in amount)
    return str(amount)
