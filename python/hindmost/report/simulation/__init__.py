"""How a simulation is shown."""
