"""How a clone that serves is shown."""
