"""SMiTe: predictors of co-location, a cluster steered by them, and the cost of ownership."""
