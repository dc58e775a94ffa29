"""``hindmost load``: one bare load client."""
