"""``hindmost study``: stored studies."""
