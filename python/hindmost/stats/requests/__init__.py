"""Requests of many runs together: pooled quantiles, quantile regression, the same requests seen twice."""
