"""``hindmost completion``: completion for shells."""
