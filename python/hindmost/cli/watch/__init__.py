"""``hindmost watch``: an application watched, and what its ring holds."""
