"""How a host is shown: what on it distorts a measurement."""
