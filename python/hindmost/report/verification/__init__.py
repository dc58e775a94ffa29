"""How a verification is shown."""
