"""``hindmost host knobs``: the settings of this host."""
