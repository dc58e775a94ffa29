"""``hindmost harvest``: place batch work and its data by history."""
