"""An explanation for Python users."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import msgspec

from hindmost.explain.document import Culprit, Explanation
from hindmost.results.api import build_request, restored_affinity
from hindmost.results.frames import Library
from hindmost.results.opening import build_result
from hindmost.results.progress import CallbackProgress, ProgressFunction
from hindmost.results.result import Result
from hindmost.studies.kind import carry_out


class ExplainResult(Result[Mapping[str, Any]]):
    """The result of `hindmost.explain`."""

    TABLES = ("parts", "culprits", "candidates")

    @cached_property
    def explanation(self) -> Explanation:
        """The document with types."""
        return msgspec.convert(self.document, Explanation)

    @property
    def verdict(self) -> str:
        """``gain``, ``no-gain`` or ``undecided``."""
        return self.explanation.verdict

    @property
    def parts(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per part of the path: its shares of the variance and of the slowest 1 % of requests."""
        rows = [dict(one) for one in self.document["parts"]]
        return self._frame(rows, "name", "of_variance", "of_slowest")

    @property
    def culprits(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per culprit, the worst first."""
        rows = [dict(one) | {"causes": ", ".join(one["causes"])} for one in self.document["culprits"]]
        return self._frame(rows, *Culprit.__struct_fields__)

    @property
    def candidates(self) -> Any:  # noqa: ANN401 (a DataFrame of either library)
        """One row per candidate: predicted and measured ratio, rounds, outcome, seconds."""
        rows = [
            {"change": one.label, "predicted": one.candidate.predicted, "outcome": one.outcome}
            | {"ratio": one.ratio and one.ratio.value, "low": one.ratio and one.ratio.low}
            | {"high": one.ratio and one.ratio.high, "rounds": one.pairs, "seconds": one.seconds}
            for one in self.explanation.trials
        ]
        return self._frame(
            rows, "change", "predicted", "outcome", "ratio", "low", "high", "rounds", "seconds"
        )

    def page(self) -> str:
        """The page as HTML."""
        from hindmost.explain.view import render_page

        return render_page(self.explanation)

    def table(self) -> str:
        """The terminal's table."""
        from hindmost.explain.view import render_terminal

        return render_terminal(self.explanation)

    def markdown(self) -> str:
        """The answer as Markdown."""
        from hindmost.explain.view import render_markdown

        return render_markdown(self.explanation)

    def _latency(self) -> list[dict[str, Any]]:
        fresh = self.explanation.confirmation
        if fresh is None:
            return []
        sides = {"as it is": fresh.before, " and ".join(fresh.labels): fresh.after}
        return [
            {"side": name, "quantile": label, "value": value, "low": None, "high": None, "pairs": fresh.pairs}
            for name, side in sides.items()
            for label, value in side.latency_us.items()
        ]


def explain(
    target: str | Path,
    *,
    budget: str = "5m",
    by: str = "p99",
    apply: bool = False,
    out: str | Path | None = None,
    progress: ProgressFunction | None = None,
    frames: Library | None = None,
    **options: Any,  # noqa: ANN401 (those of `MeasureRequest`)
) -> ExplainResult:
    """Explain the tail of a server and confirm what reduces it, as ``hindmost explain`` does.

    Parameters
    ----------
    target : str or Path
        As for `hindmost.measure`, or the process id of a server.
    budget : str
        Time for all runs.
    by : str
        The figure to lower: ``mean`` or a percentile.
    apply : bool
        Keep confirmed settings of this host until ``hindmost host knobs restore``.
    out, progress, frames, **options
        As for `hindmost.measure`.

    Raises
    ------
    HindmostError
        As for `hindmost.measure`; settings are restored in any case.

    Examples
    --------
    >>> import hindmost
    >>> from hindmost.errors import UsageError
    >>> try:
    ...     hindmost.explain("memcached", budget="1s")
    ... except UsageError as error:
    ...     print(error.code)
    bad-value
    """
    from hindmost.explain.request import create_study

    request = build_request(target, options)
    with restored_affinity():
        study = create_study(request, budget, by, None if out is None else Path(out))
        shown = carry_out(study, CallbackProgress(progress), apply=apply)
    return cast("ExplainResult", build_result(study, shown.document, frames))
