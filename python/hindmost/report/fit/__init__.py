"""How a fit is shown."""
