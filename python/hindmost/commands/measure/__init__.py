"""A plain study: repeats runs against a restarted server until the figures are precise enough."""
