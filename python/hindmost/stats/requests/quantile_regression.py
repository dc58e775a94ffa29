"""Exact quantile regression with weights and cluster-robust errors.

The model is ``Q(y | x) = x'b`` at one quantile level; ``b`` minimises the sum of check losses (Koenker and
Bassett 1978). Equal rows form one *cell*, which the engine sorts once. A factorial experiment of millions of
samples is therefore fitted in milliseconds, and continuous covariates still get the exact optimum.

Standard errors are those of the sandwich ``D^-1 M D^-1``. ``D`` contains the densities at the fit, from fits
at levels one Hall-Sheather bandwidth away (Hendricks and Koenker 1992; R's ``se = "nid"``). ``M`` contains
the scores, summed by cluster if there are clusters (Parente and Santos Silva 2016), with a correction for few
clusters and t with the matching degrees of freedom (see `sandwich`). Samples of one run are not independent:
with a run effect of 5 %, errors that ignore runs are 7 to 15 times too small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.requests.coefficients import (
    Coefficient,
    JointTest,
    coefficient_lines,
    coefficients,
    joint_test,
)
from hindmost.stats.requests.columns import (
    column_names,
    read_column,
    read_table,
    read_weights,
    refuse_misaligned,
)
from hindmost.stats.requests.formula import Formula, read_formula
from hindmost.stats.requests.linear_quantile import FitCheck, Level, Rows
from hindmost.stats.tables import Floats


class QuantileRegression:
    """Exact linear quantile regression.

    Parameters
    ----------
    quantile : float or sequence of float
        Level in (0, 1); several levels are fitted one after the other.
    fit_intercept : bool
        Whether to prepend a column of ones to X.
    jitter : float
        Standard deviation of normal noise added to y before the fit, in standard deviations of y. It is
        unnecessary because the fit is exact. Treadmill (ISCA 2016, V-A) used 0.01, for comparable results.
    random_state : int
        Seed of that noise.

    Attributes
    ----------
    coef_ : ndarray, shape (features,)
        Coefficients of the columns of X. For several quantiles, this and the following have a leading axis.
    intercept_ : float
        0.0 without intercept.
    objective_ : float
        The minimal sum of check losses.
    covariance_ : ndarray, shape (p, p)
        Covariance of the coefficients, intercept first; NaN if the samples do not determine it.
    degrees_ : ndarray, shape (p,)
        Degrees of freedom of the intervals; infinite without clusters.
    feature_names_in_ : list of str
        Names of the columns of X, or ``x0`` and so on.
    terms_ : dict of str to tuple of str
        Names of the columns of each term. Without a formula each column is a term.

    Notes
    -----
    If the optimum is not unique, a model with as many coefficients as distinct rows takes the middle of the
    optimal quantiles of each row; any other model takes a vertex. Compare solvers by their objectives, not by
    their coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> turbo = np.repeat([0, 1], 5)
    >>> y = np.array([10.0, 11, 12, 13, 30, 7, 8, 9, 10, 25])
    >>> model = QuantileRegression(quantile=0.5).fit(turbo[:, None], y)
    >>> model.intercept_, model.coef_.tolist()
    (12.0, [-3.0])

    Requests of twelve runs that differ, with a factor that has no effect. Only clustered errors show that:

    >>> random = np.random.default_rng(7)
    >>> run = np.repeat(np.arange(12), 500)
    >>> y = np.exp(4.0 + random.normal(0.0, 0.05, 12)[run] + random.normal(0.0, 0.2, run.size))
    >>> model = QuantileRegression(quantile=0.95)
    >>> turbo = (run >= 6).astype(float)[:, None]
    >>> one = model.fit(turbo, y).coefficients_[1]
    >>> print(f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]")
    2.80 [1.17, 4.43]
    >>> one = model.fit(turbo, y, clusters=run).coefficients_[1]
    >>> print(f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]")
    2.80 [-0.80, 6.39]
    """

    coef_: Floats
    intercept_: Any
    objective_: Any
    covariance_: Floats
    degrees_: Floats
    feature_names_in_: list[str]
    n_features_in_: int
    terms_: dict[str, tuple[str, ...]]

    def __init__(
        self,
        quantile: float | Sequence[float] = 0.5,
        fit_intercept: bool = True,
        jitter: float = 0.0,
        random_state: int = 1,
    ) -> None:
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.jitter = jitter
        self.random_state = random_state

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.get_params().items())
        return f"QuantileRegression({settings})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name, for scikit-learn."""
        return {key: getattr(self, key) for key in ("quantile", "fit_intercept", "jitter", "random_state")}

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        """Return the tags of a regressor, for scikit-learn."""
        from sklearn.utils import RegressorTags, Tags, TargetTags  # type: ignore[import-untyped]

        return Tags("regressor", TargetTags(required=True), regressor_tags=RegressorTags())

    def set_params(self, **params: Any) -> QuantileRegression:  # noqa: ANN401
        """Change settings. Call `fit` again afterwards."""
        for key, value in params.items():
            if key not in self.get_params():
                raise ArgumentError(
                    "bad-argument",
                    f"unknown setting {key!r}; use one of {', '.join(self.get_params())}",
                    argument=key,
                    known=list(self.get_params()),
                )
            setattr(self, key, value)
        return self

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,  # noqa: ANN401 (a data frame)
        quantile: float | Sequence[float] = 0.5,
        sample_weight: str | npt.ArrayLike | None = None,
        clusters: str | npt.ArrayLike | None = None,
    ) -> QuantileRegression:
        """Fit the model that a formula describes, such as ``latency ~ C(threads) * size``.

        Categories have treatment coding: a coefficient compares a category with the first one, and is called
        ``C(threads)[T.4]``. The formula decides about the intercept; ``- 1`` leaves it out.

        Parameters
        ----------
        formula : str
            In the notation of R and statsmodels, as the library formulaic reads it. ``C(x)`` makes numbers
            categories; ``log``, ``poly`` and other transformations of formulaic are known.
        data : data frame, or dict of columns
            The columns that the formula names: pandas or polars. No value may be missing.
        quantile : float or sequence of float
            Level in (0, 1).
        sample_weight, clusters : str or array, shape (n,), optional
            As for `fit`, or the name of a column.

        Raises
        ------
        UsageError
            formulaic is not installed: ``pip install 'hindmost[formula]'``.
        ValueError
            If the formula is not valid or does not match the data, or for the reasons of `fit`.

        Examples
        --------
        >>> latency = [10.0, 12, 11, 20, 21, 25, 40, 41, 45]
        >>> data = {"latency": latency, "threads": [1, 1, 1, 2, 2, 2, 4, 4, 4]}
        >>> model = QuantileRegression.from_formula("latency ~ C(threads)", data)
        >>> [(one.name, round(one.value, 6)) for one in model.coefficients_]
        [('(Intercept)', 11.0), ('C(threads)[T.2]', 10.0), ('C(threads)[T.4]', 30.0)]
        >>> model.predict({"threads": [4, 1]}).round(6).tolist()
        [41.0, 11.0]
        """
        read, columns, samples = read_formula(formula, data)
        model = cls(quantile, fit_intercept=read.has_intercept)
        model.fit(columns, samples, _named_column(data, sample_weight), _named_column(data, clusters))
        model.terms_ = dict(read.terms)
        model._formula, model._frame = read, type(data)
        return model

    def fit(
        self,
        X: Any,  # noqa: ANN401 (scikit-learn's names; arrays and data frames)
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        clusters: npt.ArrayLike | None = None,
    ) -> QuantileRegression:
        """Fit the model.

        Parameters
        ----------
        X : array or data frame, shape (n, features)
            Covariates.
        y : array, shape (n,)
            Response.
        sample_weight : array, shape (n,), optional
            A sample of weight 2 counts as two, in the fit and in its errors. A sample of weight 0 is left
            out.
        clusters : array, shape (n,), optional
            Samples with the same label belong together (one run), and carry less information than independent
            ones.

        Raises
        ------
        ValueError
            If shapes or indices of data frames do not match, a value is not finite, a weight is negative, the
            level is not in (0, 1), or columns depend on each other.
        """
        x = read_table(X)
        named = column_names(X)
        names = named or [f"x{i}" for i in range(x.shape[1])]
        rows, labels = self._group(X, x, names, y, sample_weight, clusters)
        self.feature_names_in_, self.n_features_in_ = names, x.shape[1]
        self.terms_ = {name: (name,) for name in names}
        self._levels: list[Level] = [rows.fit(tau, labels) for tau in self._quantiles]
        self._frame, self._named = (type(X) if named else dict), bool(named)
        self._formula: Formula | None = None
        first = int(self.fit_intercept)
        self.coef_ = self._of([one.solution[first:] for one in self._levels])
        self.intercept_ = self._of([float(one.solution[0]) if first else 0.0 for one in self._levels])
        self.objective_ = self._of([one.objective for one in self._levels])
        self.covariance_ = self._of([one.covariance for one in self._levels])
        self.degrees_ = self._of([one.degrees for one in self._levels])
        return self

    def _group(
        self,
        X: Any,  # noqa: ANN401
        x: Floats,
        names: Sequence[str],
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        clusters: npt.ArrayLike | None,
    ) -> tuple[Rows, npt.NDArray[Any] | None]:
        """Check the samples, and return them grouped by row of X, with their clusters."""
        for argument, values in (("y", y), ("sample_weight", sample_weight), ("clusters", clusters)):
            refuse_misaligned(X, argument, values)
        samples = read_column("y", y, len(x))
        weights = None if sample_weight is None else read_weights(sample_weight, len(x))
        labels = None if clusters is None else np.asarray(clusters)
        if labels is not None and labels.shape != samples.shape:
            raise ArgumentError(
                "bad-argument",
                f"clusters must have shape {samples.shape}, got {labels.shape}",
                argument="clusters",
            )
        if not len(x) or (weights is not None and not weights.any()):
            raise ArgumentError("bad-argument", "nothing to fit: X has no rows with a weight", argument="X")
        if self.jitter > 0.0:
            noise = np.random.default_rng(self.random_state).standard_normal(samples.shape)
            samples = samples + self.jitter * samples.std() * noise
        return Rows(x, samples, weights, self.fit_intercept, names), labels

    @property
    def _quantiles(self) -> list[float]:
        levels = np.atleast_1d(np.asarray(self.quantile, dtype=np.float64))
        if levels.ndim != 1 or not levels.size:
            raise ArgumentError(
                "bad-argument",
                f"quantile must be a level or a list of them, got {self.quantile!r}",
                argument="quantile",
            )
        return cast("list[float]", levels.tolist())

    def _of(self, values: list[Any]) -> Any:  # noqa: ANN401
        """Return one value for one quantile, or an array for several."""
        return values[0] if np.ndim(self.quantile) == 0 else np.array(values)

    def _fitted(self) -> list[Level]:
        if not hasattr(self, "_levels"):
            raise ArgumentError("not-fitted", "call fit(X, y) before using this model")
        return self._levels

    def predict(self, X: Any) -> Floats:  # noqa: ANN401
        """Predict quantiles at rows of X, in the unit of y: shape (n,), or (n, quantiles) for several levels.

        Columns of a data frame are matched by name, in any order.

        Raises
        ------
        ValueError
            Before `fit`, or if columns are missing or surplus.
        """
        x = self._match_columns(self._columns(X))
        return np.asarray(x @ np.asarray(self.coef_).T + self.intercept_, dtype=np.float64)

    def _columns(self, X: Any) -> Any:  # noqa: ANN401
        """Return X, or what the formula makes of a data frame."""
        self._fitted()
        if self._formula is None or not (hasattr(X, "columns") or isinstance(X, Mapping)):
            return X
        return self._formula.columns(X)

    def _match_columns(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the columns of X in the order of the model."""
        names = column_names(X)
        x = read_table(X)
        wanted = self.feature_names_in_
        if self._named and names:
            missing = [name for name in wanted if name not in names]
            if missing:
                raise ArgumentError(
                    "bad-argument",
                    f"X lacks {', '.join(missing)}; it has {', '.join(names)}",
                    argument="X",
                    missing=missing,
                    known=names,
                )
            return x[:, [names.index(name) for name in wanted]]
        if x.shape[1] != len(wanted):
            raise ArgumentError(
                "bad-argument",
                f"X has {x.shape[1]} columns, but the model was fitted to {len(wanted)}: {', '.join(wanted)}",
                argument="X",
                value=x.shape[1],
                need=len(wanted),
            )
        return x

    def score(
        self,
        X: Any,  # noqa: ANN401
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """Return Koenker and Machado's R1: 1 - check loss over the best constant's, averaged over quantiles.

        1 is perfect, 0 is as good as a constant; NaN if the constant is perfect. Whether the model has the
        right form is another question, which `check_fit` answers.
        """
        predicted = self.predict(X)
        samples = read_column("y", y, len(predicted))
        weight = np.ones(len(samples))
        if sample_weight is not None:
            weight = read_weights(sample_weight, len(samples))
        shares = []
        for tau, fitted in zip(self._quantiles, predicted.reshape(len(samples), -1).T, strict=True):
            constant = Rows(np.empty((len(samples), 0)), samples, weight, True).fit(tau, None).objective
            rest = samples - fitted
            loss = float((rest * (tau - (rest < 0.0)) * weight).sum())
            shares.append(1.0 - loss / constant if constant > 0.0 else math.nan)
        return float(np.mean(shares))

    def check_fit(
        self,
        X: Any,  # noqa: ANN401
        y: npt.ArrayLike | None = None,
        clusters: str | npt.ArrayLike | None = None,
        draws: int = 999,
        seed: int = 1,
    ) -> list[FitCheck]:
        """Check whether the model has the right form: fit it to samples, and test for lack of fit.

        Parameters
        ----------
        X : array or data frame, shape (n, features)
            Covariates; for a model of a formula, the data.
        y : array, shape (n,), optional
            Response; by default the formula's.
        clusters : str or array, shape (n,), optional
            Samples with the same label (one run) depend on each other; for a model of a formula also the name
            of a column. Without, samples count as independent.
        draws, seed : int
            Random signs of the clusters; p is at least ``1 / (draws + 1)``.

        Returns
        -------
        list of FitCheck
            One a quantile, with p of the null that the form is right (He and Zhu 2003), and the shares of
            samples below the fit, which `hindmost.plots.plot_fit` draws.

        Raises
        ------
        ValueError
            Before `fit`, or for the reasons of `fit`.

        Examples
        --------
        >>> random = np.random.default_rng(1)
        >>> size = random.uniform(0.0, 2.0, 1_000)
        >>> y = 10.0 + size**2 + random.exponential(1.0, 1_000)
        >>> for columns in (size[:, None], np.column_stack([size, size**2])):
        ...     (check,) = QuantileRegression().fit(columns, y).check_fit(columns, y)
        ...     print(check.p < 0.01)
        True
        False
        """
        matrix = self._columns(X)
        if y is None:
            if self._formula is None:
                raise ArgumentError("missing-argument", "check_fit needs y", argument="y")
            y = self._formula.samples(X)
        x, names = self._match_columns(matrix), self.feature_names_in_
        rows, labels = self._group(matrix, x, names, y, None, _named_column(X, clusters))
        return [rows.check(tau, labels, draws, seed) for tau in self._quantiles]

    @property
    def coefficients_(self) -> list[Coefficient]:
        """All coefficients with 95 % intervals, the intercept first, quantile by quantile."""
        levels = zip(self._quantiles, self._fitted(), strict=True)
        return [one for tau, level in levels for one in coefficients(level, self._coefficient_names, tau)]

    @property
    def _coefficient_names(self) -> list[str]:
        return [*(["(Intercept)"] if self.fit_intercept else []), *self.feature_names_in_]

    def test_jointly(self, *names: str) -> list[JointTest]:
        """Test the null that all coefficients of these terms or columns are zero (Wald), at each quantile.

        By clusters the reference is F, by the approximate T^2 of Pustejovsky and Tipton (2018); for
        independent samples it is chi-square.

        Raises
        ------
        ValueError
            Before `fit`, or if the model has no term or column of a name.

        Examples
        --------
        >>> random = np.random.default_rng(7)
        >>> run = np.repeat(np.arange(24), 50)
        >>> x = np.column_stack([run % 3 == 1, run % 3 == 2]).astype(float)
        >>> y = 30.0 + random.normal(0.0, 1.0, 24)[run] + random.exponential(1.0, run.size)
        >>> (test,) = QuantileRegression(0.9).fit(x, y, clusters=run).test_jointly("x0", "x1")
        >>> test.name, test.numerator, test.p > 0.05
        ('x0, x1', 2, True)
        """
        levels = self._fitted()
        coefficient_names = self._coefficient_names
        known = list(dict.fromkeys([*self.terms_, *coefficient_names]))
        if unknown := [name for name in names if name not in known]:
            raise ArgumentError(
                "unknown-name",
                f"the model has no term or coefficient {unknown[0]!r}; it has {', '.join(known)}",
                name=unknown[0],
                known=known,
            )
        if not names:
            raise ArgumentError("missing-argument", "name the terms to test", argument="names")
        columns = {column for name in names for column in self.terms_.get(name, (name,))}
        at = [place for place, column in enumerate(coefficient_names) if column in columns]
        of = zip(self._quantiles, levels, strict=True)
        return [joint_test(level, ", ".join(names), at, tau) for tau, level in of]

    def test_terms(self) -> list[JointTest]:
        """Test each term by itself, with all other terms in the model: a list over quantiles and terms.

        With treatment coding, the coefficients of a term that is also part of an interaction speak of the
        first category of the other factor. Test the term and its interactions together with `test_jointly`
        to learn whether it matters at all.
        """
        tests = [self.test_jointly(term) for term in self.terms_]
        return [test for of_quantile in zip(*tests, strict=True) for test in of_quantile]

    def table(self) -> Any:  # noqa: ANN401
        """Return the coefficients by column: a frame of X's type (pandas, polars), or a dict for arrays."""
        fields = ("name", "value", "error", "low", "high", "p", "quantile")
        every = self.coefficients_
        return self._frame({key: [getattr(one, key) for one in every] for key in fields})

    def summary(self) -> str:
        """Return the coefficients as a text table, quantile by quantile."""
        every, size = self.coefficients_, len(self._coefficient_names)
        return "\n".join(
            line
            for place, level in enumerate(self._fitted())
            for line in coefficient_lines(level, every[place * size : (place + 1) * size])
        )


def _named_column(data: Any, values: str | npt.ArrayLike | None) -> Any:  # noqa: ANN401
    """Return a column of the data if `values` is its name, else the values."""
    if not isinstance(values, str):
        return values
    known = [str(name) for name in data] if isinstance(data, Mapping) else column_names(data)
    if values not in known:
        raise ArgumentError("unknown-name", f"the data have no column {values!r}", name=values, known=known)
    return data[values]
