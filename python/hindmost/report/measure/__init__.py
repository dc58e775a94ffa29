"""How a measurement is shown."""
