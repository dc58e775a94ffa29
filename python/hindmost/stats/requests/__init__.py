"""Statistics of the requests of many runs: pooled quantiles, quantile regression, isolated latency."""
