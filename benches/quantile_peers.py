"""One fit by statsmodels or pyfixest, in an interpreter that has them: prints seconds, peak memory and
objective."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np


def main() -> None:
    """Read arguments: peer, file of float64, requests per run, level, whether to compute errors.

    With ``columns`` as the last argument, the file has rows of y and covariates, and their number replaces
    requests per run.
    """
    peer, data, each, tau, se = (
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        float(sys.argv[4]),
        sys.argv[5] == "1",
    )
    y = np.fromfile(data)
    terms = sorted((m for m in range(16)), key=lambda m: m.bit_count())
    if sys.argv[6:] == ["columns"]:
        table = y.reshape(-1, each + 1)
        y, x = table[:, 0].copy(), np.column_stack([np.ones(len(table)), table[:, 1:]])
    else:
        cell = np.repeat(np.arange(16), 30 * each)
        bits = np.array([(cell >> shift) & 1 for shift in (3, 2, 1, 0)], dtype=float)
        x = np.column_stack(
            [
                np.prod([bits[i] for i in range(4) if m >> (3 - i) & 1] or [np.ones(y.size)], axis=0)
                for m in terms
            ]
        )
    if peer == "statsmodels":
        from statsmodels.regression.quantile_regression import QuantReg

        started = time.process_time()
        beta = QuantReg(y, x).fit(q=tau).params
    else:
        import pandas
        import pyfixest

        frame = pandas.DataFrame(
            dict(zip("abcd", bits, strict=True)) | {"y": y, "run": np.repeat(np.arange(480), each)}
        )
        options = {"vcov": {"CRV1": "run"}} if se else {}
        pyfixest.quantreg("y ~ a", frame.iloc[:: max(1, each // 10)], quantile=0.5)  # compile first
        started = time.process_time()
        fit = pyfixest.quantreg("y ~ a*b*c*d", frame, quantile=tau, method="pfn", **options)
        by_name = dict(fit.coef())
        names = ["Intercept", *(":".join("abcd"[i] for i in range(4) if m >> (3 - i) & 1) for m in terms[1:])]
        beta = np.array([by_name[name] for name in names])
    seconds = time.process_time() - started
    rest = y - x @ beta
    objective = float((rest * (tau - (rest < 0))).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "objective": objective}))


if __name__ == "__main__":
    main()
