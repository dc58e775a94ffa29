"""``hindmost harvest``: batch work and its data, by history. One file a verb, loaded when called."""
